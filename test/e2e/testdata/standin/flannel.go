package main

import (
	"bufio"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// flannel needs subnet.env. The real plugin (flannel-io/cni-plugin, 2026) reads it line by line with a bufio.Scanner,
// which takes Windows line ends as well, and wants a network, a subnet, an MTU and an answer about masquerading.
func flannel(c conf) (conf, error) {
	file, _ := c["subnetFile"].(string)
	if file == "" {
		file = "/run/flannel/subnet.env" // the plugin's own default
	}
	env, err := subnetEnv(file)
	if err != nil {
		return nil, err
	}
	delegate, _ := c["delegate"].(map[string]any)
	if delegate == nil {
		delegate = conf{}
	}
	if _, ok := delegate["ipam"]; ok {
		return nil, errors.New("'delegate' must not have 'ipam': flannel sets it")
	}
	if delegate["type"] == nil {
		delegate["type"] = "bridge"
	}
	ipam, _ := c["ipam"].(map[string]any)
	if ipam == nil {
		ipam = conf{}
	}
	ipam["type"] = "host-local"
	subnet, err := netip.ParsePrefix(env["FLANNEL_SUBNET"])
	if err != nil {
		return nil, err
	}
	ipam["ranges"] = []any{[]any{conf{"subnet": subnet.Masked().String()}}}
	delegate["ipam"] = ipam
	return delegate, nil
}

// flannelKeys must all be there, and their values must be what they should be.
var flannelKeys = map[string]func(string) error{
	"FLANNEL_NETWORK": isNetworks,
	"FLANNEL_SUBNET":  isNetworks,
	"FLANNEL_MTU":     isNumber,
	"FLANNEL_IPMASQ":  func(string) error { return nil },
}

func subnetEnv(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	env := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), "=")
		is, known := flannelKeys[key]
		if !known {
			continue
		}
		if err := is(value); err != nil {
			return nil, err
		}
		env[key] = value
	}
	for key := range flannelKeys {
		if _, ok := env[key]; !ok {
			return nil, fmt.Errorf("%s is missing %s", path, key)
		}
	}
	return env, lines.Err()
}

func isNetworks(value string) error {
	for one := range strings.SplitSeq(value, ",") {
		if _, err := netip.ParsePrefix(one); err != nil {
			return err
		}
	}
	return nil
}

func isNumber(value string) error {
	_, err := strconv.ParseUint(value, 10, 32)
	return err
}

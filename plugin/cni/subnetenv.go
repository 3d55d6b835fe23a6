package cni

// flannel's subnet.env, as flanneld writes it:
//
//	FLANNEL_NETWORK=10.244.0.0/16
//	FLANNEL_SUBNET=10.244.1.1/24
//	FLANNEL_MTU=1450
//	FLANNEL_IPMASQ=true
//
// What breaks an ADD: flannel cni-plugin flannel_linux.go loadFlannelSubnetEnv.

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// parseSubnetEnv reads the keys; of one that stands twice the last counts. Windows line ends do no harm: the plugin reads by lines
// as this function does.
func parseSubnetEnv(raw []byte) (map[string]string, error) {
	keys := map[string]string{}
	sc := bufio.NewScanner(bytes.NewReader(raw))
	for sc.Scan() {
		k, v, _ := strings.Cut(sc.Text(), "=")
		if err := checkLine(k, v); err != nil {
			return nil, err
		}
		keys[k] = v
	}
	return keys, sc.Err()
}

// CheckSubnetEnv says why the flannel plugin could not use the file, nil when it can.
func CheckSubnetEnv(raw []byte) error {
	keys, err := parseSubnetEnv(raw)
	if err != nil {
		return err
	}
	for _, pair := range [][2]string{{"FLANNEL_NETWORK", "FLANNEL_IPV6_NETWORK"}, {"FLANNEL_SUBNET", "FLANNEL_IPV6_SUBNET"}} {
		if keys[pair[0]] == "" && keys[pair[1]] == "" {
			return errors.New("has no " + pair[0])
		}
	}
	for _, k := range []string{"FLANNEL_MTU", "FLANNEL_IPMASQ"} {
		if _, ok := keys[k]; !ok {
			return errors.New("has no " + k)
		}
	}
	return nil
}

// checkLine: the plugin gives up at the first value that it cannot read, whether its key comes once more or not. Later
// ones take several networks.
func checkLine(k, v string) error {
	var nets []string
	switch k {
	case "FLANNEL_NETWORK", "FLANNEL_IPV6_NETWORK":
		nets = strings.Split(v, ",")
	case "FLANNEL_SUBNET", "FLANNEL_IPV6_SUBNET":
		nets = []string{v}
	case "FLANNEL_MTU":
		if _, err := strconv.ParseUint(v, 10, 32); err != nil {
			return fmt.Errorf("%s is no number", k)
		}
	}
	for _, n := range nets {
		if _, _, err := net.ParseCIDR(n); err != nil {
			return fmt.Errorf("%s is no subnet", k)
		}
	}
	return nil
}

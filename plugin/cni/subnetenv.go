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
	"net/netip"
	"strconv"
	"strings"
)

// CheckSubnetEnv says why the flannel plugin could not use the file, nil when it can.
func CheckSubnetEnv(raw []byte) error {
	if bytes.Contains(raw, []byte("\r\n")) {
		return errors.New("has Windows line ends, which the flannel plugin does not read")
	}
	keys := map[string]string{}
	sc := bufio.NewScanner(bytes.NewReader(raw))
	for sc.Scan() {
		if k, v, ok := strings.Cut(sc.Text(), "="); ok {
			keys[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	if keys["FLANNEL_SUBNET"] == "" && keys["FLANNEL_IPV6_SUBNET"] == "" {
		return errors.New("has no FLANNEL_SUBNET")
	}
	for _, k := range []string{"FLANNEL_SUBNET", "FLANNEL_IPV6_SUBNET"} {
		if v := keys[k]; v != "" {
			if _, err := netip.ParsePrefix(v); err != nil {
				return fmt.Errorf("%s is no subnet", k)
			}
		}
	}
	if _, err := strconv.ParseUint(keys["FLANNEL_MTU"], 10, 32); err != nil {
		return errors.New("has no FLANNEL_MTU")
	}
	if keys["FLANNEL_IPMASQ"] == "" {
		return errors.New("has no FLANNEL_IPMASQ")
	}
	return nil
}

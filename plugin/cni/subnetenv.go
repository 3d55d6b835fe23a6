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

// CheckSubnetEnv says why the flannel plugin could not use the file, nil when it can. Windows line ends do no harm: the
// plugin reads by lines as this function does.
func CheckSubnetEnv(raw []byte) error {
	keys := map[string]string{}
	sc := bufio.NewScanner(bytes.NewReader(raw))
	for sc.Scan() {
		if k, v, ok := strings.Cut(sc.Text(), "="); ok {
			keys[k] = v
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	for _, pair := range [][2]string{{"FLANNEL_NETWORK", "FLANNEL_IPV6_NETWORK"}, {"FLANNEL_SUBNET", "FLANNEL_IPV6_SUBNET"}} {
		if keys[pair[0]] == "" && keys[pair[1]] == "" {
			return errors.New("has no " + pair[0])
		}
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
	if _, ok := keys["FLANNEL_IPMASQ"]; !ok {
		return errors.New("has no FLANNEL_IPMASQ")
	}
	return nil
}

package cni

import (
	"strings"
	"testing"
)

// subnetEnv is as flanneld writes it.
const subnetEnv = "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n"

const subnetEnvV6 = "FLANNEL_IPV6_NETWORK=2001:cafe:42::/56\nFLANNEL_IPV6_SUBNET=2001:cafe:42:1::1/64\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n"

func TestCheckSubnetEnv(t *testing.T) {
	t.Parallel()
	without := func(s, key string) string {
		var out []string
		for l := range strings.Lines(s) {
			if !strings.HasPrefix(l, key+"=") {
				out = append(out, l)
			}
		}
		return strings.Join(out, "")
	}
	with := func(key, value string) string { return without(subnetEnv, key) + key + "=" + value + "\n" }
	for name, tc := range map[string]struct{ raw, want string }{ // want is "" for a file that works
		"usual":           {subnetEnv, ""},
		"v6 only":         {subnetEnvV6, ""},
		"dual stack":      {subnetEnv + "FLANNEL_IPV6_NETWORK=2001:cafe:42::/56\nFLANNEL_IPV6_SUBNET=2001:cafe:42:1::1/64\n", ""},
		"no last newline": {strings.TrimSpace(subnetEnv), ""},
		// bufio.Scanner takes the carriage return away, in the plugin as here.
		"CRLF": {strings.ReplaceAll(subnetEnv, "\n", "\r\n"), ""},
		// Later flannels write several networks, and their plugin reads them.
		"several networks":       {with("FLANNEL_NETWORK", "10.244.0.0/16,10.245.0.0/16"), ""},
		"more keys":              {subnetEnv + "FLANNEL_NODE=a=b\n# comment\n\nword\n", ""},
		"IPMASQ of false":        {with("FLANNEL_IPMASQ", "false"), ""},
		"IPMASQ of anything":     {with("FLANNEL_IPMASQ", "maybe"), ""}, // all but "true" is false
		"IPMASQ of nothing":      {with("FLANNEL_IPMASQ", ""), ""},
		"MTU of 0":               {with("FLANNEL_MTU", "0"), ""},
		"empty":                  {"", "FLANNEL_NETWORK"},
		"newlines":               {"\n\n\n", "FLANNEL_NETWORK"},
		"zero bytes":             {"\x00\x00\x00\x00", "FLANNEL_NETWORK"},
		"no network":             {without(subnetEnv, "FLANNEL_NETWORK"), "FLANNEL_NETWORK"},
		"no subnet":              {without(subnetEnv, "FLANNEL_SUBNET"), "FLANNEL_SUBNET"},
		"no MTU":                 {without(subnetEnv, "FLANNEL_MTU"), "FLANNEL_MTU"},
		"no IPMASQ":              {without(subnetEnv, "FLANNEL_IPMASQ"), "FLANNEL_IPMASQ"},
		"v6 without its subnet":  {without(subnetEnvV6, "FLANNEL_IPV6_SUBNET"), "SUBNET"},
		"v6 without its network": {without(subnetEnvV6, "FLANNEL_IPV6_NETWORK"), "NETWORK"},
		"cut":                    {subnetEnv[:60], "FLANNEL_MTU"},
		"cut in a value":         {subnetEnv[:strings.Index(subnetEnv, "/24")], "FLANNEL_SUBNET"},
		"MTU a word":             {with("FLANNEL_MTU", "auto"), "FLANNEL_MTU"},
		"MTU empty":              {with("FLANNEL_MTU", ""), "FLANNEL_MTU"},
		"MTU negative":           {with("FLANNEL_MTU", "-1"), "FLANNEL_MTU"},
		"MTU too large":          {with("FLANNEL_MTU", "4294967296"), "FLANNEL_MTU"},
		"MTU a fraction":         {with("FLANNEL_MTU", "1450.0"), "FLANNEL_MTU"},
		"subnet without a mask":  {with("FLANNEL_SUBNET", "10.244.1.1"), "FLANNEL_SUBNET"},
		"subnet quoted":          {with("FLANNEL_SUBNET", `"10.244.1.1/24"`), "FLANNEL_SUBNET"},
		"mask too long":          {with("FLANNEL_SUBNET", "10.244.1.1/33"), "FLANNEL_SUBNET"},
		"v6 subnet broken":       {subnetEnv + "FLANNEL_IPV6_SUBNET=2001:cafe::g/64\n", "FLANNEL_IPV6_SUBNET"},
		// The plugin cuts nothing off: a space is part of the key or of the value.
		"space before =":     {strings.Replace(subnetEnv, "FLANNEL_MTU=", "FLANNEL_MTU =", 1), "FLANNEL_MTU"},
		"space after =":      {strings.Replace(subnetEnv, "FLANNEL_MTU=", "FLANNEL_MTU= ", 1), "FLANNEL_MTU"},
		"space before a key": {strings.Replace(subnetEnv, "FLANNEL_MTU", " FLANNEL_MTU", 1), "FLANNEL_MTU"},
		"space at the end":   {strings.Replace(subnetEnv, "/24", "/24 ", 1), "FLANNEL_SUBNET"},
		"export":             {strings.ReplaceAll(subnetEnv, "FLANNEL_", "export FLANNEL_"), "FLANNEL_NETWORK"},
		"lower case":         {strings.ToLower(subnetEnv), "FLANNEL_NETWORK"},
		"colons":             {strings.ReplaceAll(subnetEnv, "=", ": "), "FLANNEL_NETWORK"},
		"BOM":                {"\xef\xbb\xbf" + subnetEnv, "FLANNEL_NETWORK"},
		"old Mac line ends":  {strings.ReplaceAll(subnetEnv, "\n", "\r"), "FLANNEL_"},
		// One line of more than 64 KiB stops the plugin's scanner too.
		"endless line": {subnetEnv + strings.Repeat("x", 70_000), "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := CheckSubnetEnv([]byte(tc.raw))
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v; want %q", err, tc.want)
			}
		})
	}
}

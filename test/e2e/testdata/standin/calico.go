package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"
)

// calico needs the node's name, which calico-node writes, and an API server that takes the kubeconfig's token. There is
// no API server here, so this one refuses as that would: an expired token is Unauthorized.
func calico(c conf) (conf, error) {
	if optional, _ := c["nodename_file_optional"].(bool); !optional {
		file, _ := c["nodename_file"].(string)
		if _, err := os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	kubernetes, _ := c["kubernetes"].(map[string]any)
	if file, ok := kubernetes["kubeconfig"].(string); ok {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if expired(tokenOf(string(raw))) {
			return nil, errors.New("connection is unauthorized: Unauthorized")
		}
	}
	return conf{"type": "bridge", "bridge": c["bridge"], "ipam": c["ipam"]}, nil
}

func tokenOf(kubeconfig string) string {
	_, after, _ := strings.Cut(kubeconfig, "token: ")
	token, _, _ := strings.Cut(after, "\n")
	return token
}

// expired reads a JSON Web Token as the API server does; one that it cannot read it does not take either.
func expired(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return true
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return true
	}
	var claims struct {
		Exp int64 `json:"exp"`
	}
	return json.Unmarshal(payload, &claims) != nil || time.Now().Unix() >= claims.Exp
}

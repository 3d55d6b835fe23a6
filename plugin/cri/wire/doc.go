// Package wire has the messages of the Container Runtime Interface that go over a runtime's socket, with the fields that this
// program needs. They are generated from cri.proto. The package k8s.io/cri-api has them all; to initialise it, and the gRPC
// that it brings along, took more CPU than the rest of a check (test/e2e/README.md, What a check costs).
package wire

//go:generate go run -C ../../../test/e2e/programs/wire . ../../../../plugin/cri/wire/cri.proto ../../../../plugin/cri/wire/cri.pb.go

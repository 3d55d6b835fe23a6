// Package wire has the messages of the Container Runtime Interface that go over a runtime's socket, with the fields that this
// program needs. They are generated from cri.proto. The package k8s.io/cri-api has them all; to initialise it, and the gRPC
// that it brings along, took more CPU than the rest of a check (test/e2e/README.md, What a check costs).
package wire

//go:generate sh -c "go build -o protoc-gen-go google.golang.org/protobuf/cmd/protoc-gen-go && protoc --plugin=./protoc-gen-go --go_out=. --go_opt=paths=source_relative cri.proto && rm protoc-gen-go"

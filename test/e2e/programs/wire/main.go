// Wire generates plugin/cri/wire/cri.pb.go from cri.proto, with the compiler and the generator of exact versions: no protoc is
// needed. It is called with the file to read and the file to write.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: wire CRI.PROTO CRI.PB.GO")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "wire:", err)
		os.Exit(1)
	}
}

func generate(from, to string) error {
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{filepath.Dir(from)}},
		SourceInfoMode: protocompile.SourceInfoStandard, // comments
	}
	name := filepath.Base(from)
	files, err := compiler.Compile(context.Background(), name)
	if err != nil {
		return err
	}
	options := "paths=source_relative"
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name},
		Parameter:      &options,
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protoutil.ProtoFromFileDescriptor(files[0])},
	})
	if err != nil {
		return err
	}
	internal_gengo.GenerateFile(plugin, plugin.FilesByPath[name])
	made := plugin.Response()
	if made.Error != nil {
		return fmt.Errorf("%s: %s", name, made.GetError())
	}
	return os.WriteFile(to, []byte(made.File[0].GetContent()), 0o644)
}

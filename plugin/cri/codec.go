package cri

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// maxListed is more than any node can have: the kubelet's own limits are below a thousand pods. Above it the runtime has gone
// mad, and to judge its list would take all the time and memory there is.
const maxListed = 100_000

var errTooMany = fmt.Errorf("more than %d entries", maxListed)

// bounded is grpc's codec, which refuses answers of too many fields before it makes messages of them: an empty entry is two
// bytes on the wire and more than a hundred in memory, so 16 MiB of them would take a gigabyte.
type bounded struct{ encoding.CodecV2 }

func newBounded() bounded { return bounded{encoding.GetCodecV2(proto.Name)} }

// Name is nothing: it would go on the wire behind application/grpc, and CRI-O tells gRPC from HTTP by that word alone.
func (bounded) Name() string { return "" }

func (c bounded) Unmarshal(data mem.BufferSlice, v any) error {
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	if err := few(whole.ReadOnlyData()); err != nil {
		return err
	}
	return c.CodecV2.Unmarshal(mem.BufferSlice{whole}, v)
}

// few counts the fields of an answer. Those of a list are its entries.
func few(raw []byte) error {
	for n := 0; len(raw) > 0; n++ {
		if n == maxListed {
			return errTooMany
		}
		_, _, size := protowire.ConsumeField(raw)
		if size < 0 {
			return nil // whoever unmarshals it says so
		}
		raw = raw[size:]
	}
	return nil
}

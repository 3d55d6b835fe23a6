package cri

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxListed is more than any node can have: the kubelet's own limits are below a thousand pods. Above it the runtime has gone
// mad, and to judge its list would take all the time and memory there is.
const maxListed = 100_000

var (
	errMalformed = errors.New("malformed message")
	errOtherType = errors.New("a field of another type than CRI has")
	errTooMany   = fmt.Errorf("more than %d entries", maxListed)
)

// conforms says whether the bytes of a message are what CRI says, before anything is made of them. protobuf takes a field of
// another type for one of a later version, and the state that is then missing would be 0, which is READY, or CREATED. And an
// empty entry of a list is two bytes here and more than a hundred in memory, so 16 MiB of them would take a gigabyte.
func conforms(raw []byte, d protoreflect.MessageDescriptor) error {
	fields := d.Fields()
	for n := 0; len(raw) > 0; n++ {
		if n == maxListed {
			return errTooMany
		}
		num, typ, tag := protowire.ConsumeTag(raw)
		if tag < 0 {
			return errMalformed
		}
		value := raw[tag:]
		size := protowire.ConsumeFieldValue(num, typ, value)
		if size < 0 {
			return errMalformed
		}
		if f := fields.ByNumber(num); f != nil {
			if err := fits(f, typ, value[:size]); err != nil {
				return err
			}
		}
		raw = value[size:]
	}
	return nil
}

// fits judges one value of a known field. CRI has no field of a fixed size and no list of numbers in what is read of it.
func fits(f protoreflect.FieldDescriptor, typ protowire.Type, value []byte) error {
	want := protowire.VarintType
	switch f.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		want = protowire.BytesType
	}
	if typ != want {
		return errOtherType
	}
	if f.Kind() != protoreflect.MessageKind {
		return nil
	}
	inner, n := protowire.ConsumeBytes(value)
	if n < 0 {
		return errMalformed
	}
	return conforms(inner, f.Message())
}

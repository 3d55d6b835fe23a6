package cri

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a message: n is the value of a number, b the bytes of anything else, nil for a number. b is good
// until the next field.
type field struct {
	num int
	typ protowire.Type
	n   uint64
	b   []byte
}

var (
	errMalformed = errors.New("malformed message")
	errOtherType = errors.New("a field of another type than CRI has")
)

// of holds a field to the types that it must have: numbers and bytes are the field numbers, as bits. A state of another type
// would read as 0, which is READY, or CREATED.
func (f field) of(numbers, bytes uint64) error {
	if f.num > 63 {
		return nil
	}
	bit := uint64(1) << f.num
	if numbers&bit != 0 && f.typ != protowire.VarintType || bytes&bit != 0 && f.typ != protowire.BytesType {
		return errOtherType
	}
	return nil
}

// readFields reads a message of that size from r and hands over its fields one by one, so that a list of 10,000 containers
// is never in memory as a whole. Fields that nobody knows are handed over too.
func readFields(r io.Reader, size int64, each func(field) error) error {
	limit := &io.LimitedReader{R: r, N: size}
	in := bufio.NewReaderSize(limit, 32<<10)
	var buf []byte
	for {
		tag, err := binary.ReadUvarint(in)
		if errors.Is(err, io.EOF) && limit.N == 0 {
			return nil
		}
		if err != nil {
			return cut(err, limit)
		}
		num, typ := protowire.DecodeTag(tag)
		if num < protowire.MinValidNumber {
			return unreadable{errMalformed}
		}
		f := field{num: int(num), typ: typ}
		switch typ {
		case protowire.VarintType:
			f.n, err = binary.ReadUvarint(in)
		case protowire.Fixed64Type:
			_, err = in.Discard(8)
		case protowire.Fixed32Type:
			_, err = in.Discard(4)
		case protowire.BytesType:
			buf, err = readBytes(in, limit, buf)
			f.b = buf
		default:
			err = errMalformed
		}
		if err != nil {
			return cut(err, limit)
		}
		if err := each(f); err != nil {
			return unreadable{err}
		}
	}
}

// readBytes reads a length and as many bytes, into buf where they fit.
func readBytes(in *bufio.Reader, limit *io.LimitedReader, buf []byte) ([]byte, error) {
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return buf, err
	}
	if n > uint64(limit.N)+uint64(in.Buffered()) { // what is left of the message
		return buf, errMalformed
	}
	if buf == nil || uint64(cap(buf)) < n {
		buf = make([]byte, n, n+n/4)
	}
	buf = buf[:n]
	_, err = io.ReadFull(in, buf)
	return buf, err
}

// cut is what a message ends in too early: malformed when all of it is there, else the connection's own error.
func cut(err error, limit *io.LimitedReader) error {
	if limit.N == 0 || errors.Is(err, errMalformed) {
		return unreadable{errMalformed}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrHangsUp
	}
	return err
}

// eachField hands over the fields of a message that is in memory.
func eachField(raw []byte, each func(field) error) error {
	for len(raw) > 0 {
		num, typ, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return errMalformed
		}
		raw = raw[n:]
		f := field{num: int(num), typ: typ}
		switch typ {
		case protowire.VarintType:
			f.n, n = protowire.ConsumeVarint(raw)
		case protowire.BytesType:
			f.b, n = protowire.ConsumeBytes(raw)
		default:
			n = protowire.ConsumeFieldValue(num, typ, raw)
		}
		if n < 0 {
			return errMalformed
		}
		raw = raw[n:]
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}

// addEntry adds an entry of a map<string, string> to *m.
func addEntry(m *map[string]string, raw []byte) error {
	var key, value string
	err := eachField(raw, func(f field) error {
		switch f.num {
		case 1:
			key = string(f.b)
		case 2:
			value = string(f.b)
		}
		return nil
	})
	if *m == nil {
		*m = map[string]string{}
	}
	(*m)[key] = value
	return err
}

// withText and withBytes append a field to a request; an empty text is the default and is left out.
func withText(req []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return req
	}
	return withBytes(req, num, []byte(s))
}

func withBytes(req []byte, num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(req, num, protowire.BytesType), b)
}

func withTrue(req []byte, num protowire.Number) []byte {
	return protowire.AppendVarint(protowire.AppendTag(req, num, protowire.VarintType), 1)
}

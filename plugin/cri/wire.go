package cri

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// A field on the wire is a tag, the number and the wire type in three bits, and a value (protobuf.dev/programming-guides/encoding).
const (
	varint  = 0
	fixed64 = 1
	chunk   = 2 // a length and as many bytes
	fixed32 = 5
)

// field is one field of a message: n is the value of a number, b the bytes of anything else, nil for a number. b is good
// until the next field.
type field struct {
	num int
	typ int // varint, chunk, ...
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
	if numbers&bit != 0 && f.typ != varint || bytes&bit != 0 && f.typ != chunk {
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
		f := field{num: number(tag), typ: int(tag & 7)}
		switch f.typ {
		case varint:
			f.n, err = binary.ReadUvarint(in)
		case fixed64:
			_, err = in.Discard(8)
		case fixed32:
			_, err = in.Discard(4)
		case chunk:
			buf, err = readBytes(in, limit, buf)
			f.b = buf
		default:
			err = errMalformed // groups: proto3 has none
		}
		if f.num == 0 {
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

// number is the number of a tag's field, 0 when it is none.
func number(tag uint64) int {
	if n := tag >> 3; n < 1<<29 {
		return int(n)
	}
	return 0
}

// eachField hands over the fields of a message that is in memory.
func eachField(raw []byte, each func(field) error) error {
	for len(raw) > 0 {
		tag, n := binary.Uvarint(raw)
		if n <= 0 || number(tag) == 0 {
			return errMalformed
		}
		raw = raw[n:]
		f := field{num: number(tag), typ: int(tag & 7)}
		var size uint64
		switch f.typ {
		case varint:
			if f.n, n = binary.Uvarint(raw); n <= 0 {
				return errMalformed
			}
			size = uint64(n)
		case fixed64:
			size = 8
		case fixed32:
			size = 4
		case chunk:
			length, n := binary.Uvarint(raw)
			if n <= 0 || length > uint64(len(raw)-n) {
				return errMalformed
			}
			size = uint64(n) + length
			f.b = raw[n:size]
		default:
			return errMalformed
		}
		if size > uint64(len(raw)) {
			return errMalformed
		}
		raw = raw[size:]
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

// withText, withBytes and withTrue append a field to a request; an empty text is the default and is left out.
func withText(req []byte, num int, s string) []byte {
	if s == "" {
		return req
	}
	return withBytes(req, num, []byte(s))
}

func withBytes(req []byte, num int, b []byte) []byte {
	req = binary.AppendUvarint(req, uint64(num)<<3|chunk)
	return append(binary.AppendUvarint(req, uint64(len(b))), b...)
}

func withTrue(req []byte, num int) []byte {
	return append(binary.AppendUvarint(req, uint64(num)<<3|varint), 1)
}

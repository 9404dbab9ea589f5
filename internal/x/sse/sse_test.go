package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cantle-dev/cantle/internal/x/sse"
)

func all(r io.Reader) (events []sse.Event, err error) {
	rd := sse.NewReader(r)
	for {
		ev, err := rd.Next()
		if err == io.EOF {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		ev.Data = append([]byte{}, ev.Data...)
		events = append(events, ev)
	}
}

func event(name, data string) sse.Event { return sse.Event{Name: name, Data: []byte(data)} }

func TestFraming(t *testing.T) {
	big := strings.Repeat("漢字", 40_000)
	tests := []struct {
		name, in string
		want     []sse.Event
	}{
		{"line feeds", "event: a\ndata: 1\n\ndata: 2\n\n", []sse.Event{event("a", "1"), event("", "2")}},
		{"CRLF", "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", []sse.Event{event("a", "1"), event("", "2")}},
		{"bare CR", "event: a\rdata: 1\r\rdata: 2\r\r", []sse.Event{event("a", "1"), event("", "2")}},
		{"mixed ends", "data: 1\r\n\ndata: 2\r\r\ndata: 3\n\r", []sse.Event{event("", "1"), event("", "2"), event("", "3")}},
		{"byte order mark", "\ufeffdata: 1\n\n", []sse.Event{event("", "1")}},
		{"mark only at the start", "data: 1\n\n\ufeffdata: 2\n\n", []sse.Event{event("", "1")}},
		{"no space", "event:a\ndata:1\n\n", []sse.Event{event("a", "1")}},
		{"one space is taken", "data:  1 \n\n", []sse.Event{event("", " 1 ")}},
		{"several data lines", "data: 1\ndata:\ndata: 2\n\n", []sse.Event{event("", "1\n\n2")}},
		{"empty data", "data\n\ndata:\n\n", []sse.Event{event("", ""), event("", "")}},
		{"comments", ": ping\n\n:\n\ndata: 1\n: x\n\n", []sse.Event{event("", "1")}},
		{"name without data", "event: a\n\ndata: 1\n\n", []sse.Event{event("", "1")}},
		{"other fields", "id: 7\nretry: 10\nfoo: bar\ndataset: no\ndata: 1\n\n", []sse.Event{event("", "1")}},
		{"ended by the end", "data: 1\n", []sse.Event{{Data: []byte("1"), Open: true}}},
		{"cut", "data: 1\n\ndata: 2", []sse.Event{event("", "1"), {Data: []byte("2"), Cut: true}}},
		{"cut in a name", "data: 1\nev", []sse.Event{{Data: []byte("1"), Cut: true}}},
		{"long line", "data: " + big + "\n\n", []sse.Event{event("", big)}},
		{"nothing", "", nil},
		{"half a mark", "\xef\xbb", nil},
		{"blank", "\n\n\r\n\r", nil},
		{"colon in data", "data: a: b\n\n", []sse.Event{event("", "a: b")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{
				strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in)), iotest.DataErrReader(strings.NewReader(tt.in)),
			} {
				got, err := all(r)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, tt.want) {
					t.Fatalf("got %+v, want %+v", got, tt.want)
				}
			}
		})
	}
}

// TestNoWait checks that an event is delivered as soon as its end is there,
// even where the next byte could be the second half of a line end.
func TestNoWait(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\n\r\n", "\r\r", "\r\n\r"} {
		pr, pw := io.Pipe()
		r := sse.NewReader(pr)
		go func() { _, _ = pw.Write([]byte("data: 1" + end)) }()
		if ev, err := r.Next(); err != nil || string(ev.Data) != "1" {
			t.Errorf("%q: %q, %v", end, ev.Data, err)
		}
		_ = pw.Close()
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("broken")
	got, err := all(io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(broken)))
	if err != broken || len(got) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := all(stuck{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that gives nothing: %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

type endless struct{ line string }

func (e endless) Read(p []byte) (n int, err error) {
	for n+len(e.line) <= len(p) {
		n += copy(p[n:], e.line)
	}
	if n == 0 {
		n = copy(p, e.line)
	}
	return n, nil
}

func TestTooLong(t *testing.T) {
	for _, line := range []string{"data", "data: 0123456789abcdef0123456789abcdef0123456789abcdef\n"} {
		_, err := all(endless{line})
		if !errors.Is(err, sse.ErrTooLong) || !strings.Contains(err.Error(), "32 MiB") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("event: a\ndata: 1\n\n: c\r\rdata: 2\r\n\r\n"))
	f.Add([]byte("\ufeffdata: x\ndata"))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := all(bytes.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		bytewise, err := all(iotest.OneByteReader(bytes.NewReader(in)))
		if err != nil || !reflect.DeepEqual(whole, bytewise) {
			t.Fatalf("read whole %+v, byte by byte %+v, %v", whole, bytewise, err)
		}
	})
}

func ExampleReader() {
	r := sse.NewReader(strings.NewReader(": hello\n\nevent: delta\ndata: {\"n\":1}\n\ndata: [DONE]\n\n"))
	for {
		ev, err := r.Next()
		if err != nil {
			break
		}
		fmt.Printf("%q %s\n", ev.Name, ev.Data)
	}
	// Output:
	// "delta" {"n":1}
	// "" [DONE]
}

func BenchmarkNext(b *testing.B) {
	const ev = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" word\"}}\n\n"
	r := sse.NewReader(endless{ev})
	b.ReportAllocs()
	b.SetBytes(int64(len(ev)))
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

package wirecase_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/cantle-dev/cantle/internal/x/sse"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
)

// event is one event of an answer.
type event struct {
	name    string
	data    []byte
	headers eventstream.Headers
	chunk   bool // data is in base64 in the payload
}

// framed is an answer in events.
type framed struct {
	form   string // sse, json, array, ndjson, frames; "" for what is broken
	events []event
}

// split is the answer of an exchange in events. What is broken, or is no JSON,
// has no form.
func split(x *wirecase.Exchange) framed {
	body := x.Body()
	trimmed := bytes.TrimSpace(body)
	f := framed{}
	switch {
	case strings.Contains(x.Header().Get("Content-Type"), "eventstream"):
		f.form = "frames"
		r, dec := bytes.NewReader(body), eventstream.NewDecoder()
		for r.Len() > 0 {
			m, err := dec.Decode(r, nil)
			if err != nil {
				return framed{}
			}
			e := event{headers: m.Headers, data: m.Payload}
			if v := m.Headers.Get(":event-type"); v != nil {
				e.name = v.String()
			}
			var c struct {
				Bytes []byte `json:"bytes"`
			}
			if e.name == "chunk" && json.Unmarshal(m.Payload, &c) == nil {
				e.chunk, e.data = true, c.Bytes
			}
			f.events = append(f.events, e)
		}
	case len(trimmed) > 0 && trimmed[0] == '[':
		f.form = "array"
		var list []json.RawMessage
		if json.Unmarshal(trimmed, &list) != nil {
			return framed{}
		}
		for _, raw := range list {
			f.events = append(f.events, event{data: raw})
		}
	case len(trimmed) > 0 && trimmed[0] == '{':
		f.form = "json"
		if x.Wire == "ollama" {
			f.form = "ndjson"
		}
		dec := json.NewDecoder(bytes.NewReader(trimmed))
		for {
			var raw json.RawMessage
			if err := dec.Decode(&raw); err == io.EOF {
				break
			} else if err != nil {
				return framed{}
			}
			f.events = append(f.events, event{data: raw})
		}
		if f.form == "json" && len(f.events) != 1 {
			return framed{}
		}
	default:
		f.form = "sse"
		r := sse.NewReader(bytes.NewReader(body))
		for {
			ev, err := r.Next()
			if err != nil {
				break
			}
			f.events = append(f.events, event{name: ev.Name, data: bytes.Clone(ev.Data)})
		}
	}
	for _, e := range f.events {
		if !json.Valid(e.data) && string(e.data) != "[DONE]" {
			return framed{}
		}
	}
	if len(f.events) == 0 {
		return framed{}
	}
	return f
}

// style is how server-sent events are written.
type style struct {
	name                     string
	end                      string // of lines
	bom, tight, unnamed      bool
	comments, fields, spaced bool
	open                     bool // nothing ends the last event
}

var styles = []style{
	{name: "LF", end: "\n"},
	{name: "CRLF", end: "\r\n"},
	{name: "CR", end: "\r"},
	{name: "byte order mark", end: "\n", bom: true},
	{name: "no space", end: "\n", tight: true},
	{name: "no names", end: "\n", unnamed: true},
	{name: "comments", end: "\n", comments: true},
	{name: "comments, CR", end: "\r", comments: true, bom: true},
	{name: "fields", end: "\n", fields: true},
	{name: "blank lines", end: "\r\n", spaced: true},
	{name: "open end", end: "\n", open: true},
}

// join is the body of the events, and where each of them is complete.
func (f framed) join(s style) (body []byte, ends []int) {
	var b bytes.Buffer
	if s.end == "" {
		s.end = "\n"
	}
	if f.form == "sse" && s.bom {
		b.WriteString("\xef\xbb\xbf")
	}
	if f.form == "sse" && s.spaced {
		b.WriteString(s.end + s.end)
	}
	if f.form == "array" {
		b.WriteByte('[')
	}
	for i, e := range f.events {
		switch f.form {
		case "json":
			b.Write(e.data)
		case "ndjson":
			b.Write(e.data)
			ends = append(ends, b.Len())
			b.WriteByte('\n')
			continue
		case "array":
			if i > 0 {
				b.WriteString(",\r\n")
			}
			b.Write(e.data)
		case "frames":
			data := e.data
			if e.chunk {
				data, _ = json.Marshal(map[string]string{"bytes": base64.StdEncoding.EncodeToString(data), "p": "abcd"}) // strings marshal
			}
			_ = eventstream.NewEncoder().Encode(&b, eventstream.Message{Headers: e.headers, Payload: data}) // into memory
		case "sse":
			if s.comments {
				b.WriteString(": a comment" + s.end + s.end + ":" + s.end)
			}
			if s.fields {
				b.WriteString("id: 7" + s.end + "retry: 10" + s.end + "other: x" + s.end + "data" + s.end[:0])
				b.Truncate(b.Len() - len("data"))
			}
			if e.name != "" && !s.unnamed {
				b.WriteString("event: " + e.name + s.end)
			}
			for line := range bytes.SplitSeq(e.data, []byte("\n")) {
				b.WriteString("data:")
				if !s.tight {
					b.WriteByte(' ')
				}
				b.Write(line)
				b.WriteString(s.end)
			}
			if s.open && i == len(f.events)-1 {
				b.Truncate(b.Len() - len(s.end))
				ends = append(ends, b.Len())
				continue
			}
			ends = append(ends, b.Len()-len(s.end))
			b.WriteString(s.end)
			if s.spaced {
				b.WriteString(s.end + s.end)
			}
			continue
		}
		ends = append(ends, b.Len())
	}
	if f.form == "array" {
		b.WriteByte(']')
	}
	return b.Bytes(), ends
}

// served is a transport that answers with a body, in pieces.
type served struct {
	status int
	header http.Header
	body   []byte
	sizes  func() int // of the pieces; nil is one
	broken bool       // the connection breaks at the end
	sent   []byte
}

func (s *served) RoundTrip(r *http.Request) (*http.Response, error) {
	var err error
	if s.sent, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: s.status, Header: s.header, Request: r, ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(&pieces{b: s.body, sizes: s.sizes, broken: s.broken}), ContentLength: -1,
	}, nil
}

type pieces struct {
	b      []byte
	sizes  func() int
	broken bool
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		if p.broken {
			return 0, io.ErrUnexpectedEOF
		}
		return 0, io.EOF
	}
	n := len(p.b)
	if p.sizes != nil {
		n = max(1, p.sizes())
	}
	n = copy(b[:min(len(b), n)], p.b)
	p.b = p.b[n:]
	return n, nil
}

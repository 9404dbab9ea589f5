package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// forgive is b with blanks in the place of raw control characters in strings.
// JSON forbids them, and servers that put their errors together by hand copy
// them in from messages of more than one line. An answer is not forgiven: what
// is in it may be run.
func forgive(b []byte) []byte {
	var out []byte
	inString, escaped := false, false
	for i, c := range b {
		switch {
		case c < ' ' && inString:
			if out == nil {
				out = bytes.Clone(b)
			}
			out[i] = ' '
			if escaped { // an escape that the character broke
				out[i-1], escaped = ' ', false
			}
		case escaped:
			escaped = false
		case c == '\\' && inString:
			escaped = true
		case c == '"':
			inString = !inString
		}
	}
	if out == nil {
		return b
	}
	return out
}

// errorIn returns the error document that b begins with, if b is no JSON only for
// what forgive forgives: an object with an error, or a list that begins with one.
// It is nil for anything else. The error is [io.ErrUnexpectedEOF] if more of b
// may make it one.
func errorIn(b []byte) ([]byte, error) {
	clean := forgive(bytes.TrimSpace(b))
	var raw json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(clean)).Decode(&raw); err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		raw = list[0]
	}
	var doc struct {
		Error        json.RawMessage `json:"error"`
		Object, Type json.RawMessage
	}
	if json.Unmarshal(raw, &doc) != nil {
		return nil, nil
	}
	switch string(doc.Error) {
	case "", "null", "{}", `""`, "false", "[]":
		if string(doc.Object) != `"error"` && string(doc.Type) != `"error"` {
			return nil, nil
		}
	}
	return raw, nil
}

// errorAfter is errorIn of what began with kept and goes on in r.
func errorAfter(kept []byte, r io.Reader) []byte {
	for {
		doc, err := errorIn(kept)
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(kept) > maxErrorBody {
			return doc
		}
		more := make([]byte, len(kept)+4<<10)
		n, err := r.Read(more)
		kept = append(kept, more[:n]...)
		if err != nil {
			doc, _ := errorIn(kept)
			return doc
		}
	}
}

package guard

import (
	"bytes"
	"encoding/json"
)

// JSON is raw without keys in its strings, its names and its numbers. All else is
// as it was, byte for byte, and it is valid if it was.
func (r *Redactor) JSON(raw json.RawMessage) json.RawMessage { return r.now().json(raw) }

func (p pass) json(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || p.idle() {
		return raw
	}
	if !p.shapes && (p.simple || !bytes.Contains(raw, []byte(`\u`))) {
		if p.text(string(raw)) == string(raw) {
			return raw
		}
	}
	if !json.Valid(raw) {
		if s := p.text(string(raw)); s != string(raw) {
			return json.RawMessage(s)
		}
		return raw
	}
	out, changed := make([]byte, 0, len(raw)), false
	for i := 0; i < len(raw); {
		j := i + 1
		var value string
		switch c := raw[i]; {
		case c == '"':
			for raw[j] != '"' {
				if raw[j] == '\\' {
					j++
				}
				j++
			}
			j++
			_ = json.Unmarshal(raw[i:j], &value) // it is valid
		case c == '-' || '0' <= c && c <= '9':
			for j < len(raw) && bytes.IndexByte([]byte("+-.eE0123456789"), raw[j]) >= 0 {
				j++
			}
			value = string(raw[i:j])
		default:
			out = append(out, c)
			i = j
			continue
		}
		if clean := p.text(value); clean != value {
			out, changed = appendString(out, clean), true
		} else {
			out = append(out, raw[i:j]...)
		}
		i = j
	}
	if !changed {
		return raw
	}
	return out
}

func appendString(b []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return append(b, `""`...) // a string always has a JSON form
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

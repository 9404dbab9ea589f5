package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// headerBytes bounds the id, the parent and the kind of a record each, so that
// the header of any record fits into the first kilobyte of its line.
const headerBytes = 256

// Encode appends the record of e, one line of JSON without its newline, to b.
// The header comes first and in a fixed order, so that a reader finds its way
// through a journal without decoding the bodies:
//
//	{"v":1,"id":"…","parent":"…","kind":"…","time":"…","data":{…}}
//
// An entry that was read is written as it was read.
func (e Entry) Encode(b []byte) ([]byte, error) {
	if e.raw != nil {
		return append(b, e.raw...), nil
	}
	if e.Data == nil {
		return nil, fmt.Errorf("session: entry %q has no data", e.ID)
	}
	kind := e.Kind()
	if e.ID == "" {
		return nil, fmt.Errorf("session: an entry of kind %s has no id", kind)
	}
	for _, f := range [...]struct{ what, s string }{{"id", e.ID}, {"parent", e.Parent}, {"kind", kind}} {
		if len(f.s) > headerBytes || strings.ContainsFunc(f.s, func(r rune) bool { return r <= ' ' || r == '"' || r == '\\' || r > '~' }) {
			return nil, fmt.Errorf("session: entry %q: its %s %q is not plain ASCII without spaces and quotes, of %d bytes at most", e.ID, f.what, f.s, headerBytes)
		}
	}
	if strings.Contains(e.ID, "/") {
		return nil, fmt.Errorf("session: entry %q: an id has no /, which sets it off from a call's", e.ID)
	}
	data, err := encodeData(e.Data)
	if err != nil {
		return nil, fmt.Errorf("session: entry %s of kind %s: %w", e.ID, kind, err)
	}
	b = append(append(b, `{"v":1,"id":"`...), e.ID...)
	b = append(append(b, `","parent":"`...), e.Parent...)
	b = append(append(b, `","kind":"`...), kind...)
	b = e.Time.UTC().AppendFormat(append(b, `","time":"`...), time.RFC3339Nano)
	b = append(append(b, `","data":`...), data...)
	return append(b, '}'), nil
}

// encodeData is the JSON of d on one line.
func encodeData(d Data) ([]byte, error) {
	var raw json.RawMessage
	switch d := d.(type) {
	case Note:
		raw = d.Data
		if d.Kind == "" {
			return nil, errors.New("a note has no kind")
		}
	case Unknown:
		raw = d.Raw
		if known(d.Kind) {
			return nil, errors.New("an unknown entry has a kind that is known")
		}
	default:
		return json.Marshal(d)
	}
	switch {
	case len(raw) == 0:
		return []byte("null"), nil
	case !json.Valid(raw):
		return nil, errors.New("its data is not JSON")
	case !bytes.ContainsAny(raw, "\n\r"):
		return raw, nil
	}
	var one bytes.Buffer
	err := json.Compact(&one, raw)
	return one.Bytes(), err
}

// A VersionError means that a later version of this program wrote a record in
// a way that this one cannot read.
type VersionError struct {
	Entry   string
	Version int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("session: record %s has version %d, and this program reads version %d: use a newer one", e.Entry, e.Version, Version)
}

// record is a line as JSON.
type record struct {
	V      int             `json:"v"`
	ID     string          `json:"id"`
	Parent string          `json:"parent"`
	Kind   string          `json:"kind"`
	Time   time.Time       `json:"time"`
	Data   json.RawMessage `json:"data"`
}

// Decode reads a record that [Entry.Encode] wrote; one of a kind that it does
// not know becomes [Unknown]. The entry keeps line, which must not be changed.
func Decode(line []byte) (Entry, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	if rec, ok := fast(line); ok {
		// That the data is JSON, and all of the rest, is seen as it is decoded.
		if data, err := decodeData(rec.Kind, rec.Data); err == nil {
			return Entry{ID: rec.ID, Parent: rec.Parent, Time: rec.Time, Data: data, raw: line}, nil
		}
	}
	var rec record
	if err := json.Unmarshal(line, &rec); err != nil {
		return Entry{}, fmt.Errorf("session: record: %w", err)
	}
	switch {
	case rec.V > Version:
		return Entry{}, &VersionError{rec.ID, rec.V}
	case rec.V != Version || rec.ID == "" || rec.Kind == "":
		return Entry{}, errors.New("session: record has no version, id or kind")
	}
	data, err := decodeData(rec.Kind, rec.Data)
	if err != nil {
		return Entry{}, fmt.Errorf("session: record %s of kind %s: %w", rec.ID, rec.Kind, err)
	}
	return Entry{ID: rec.ID, Parent: rec.Parent, Time: rec.Time, Data: data, raw: line}, nil
}

// fast reads a record of the form that Encode writes; its data is not checked,
// and that of a record with more fields behind it is no JSON.
func fast(line []byte) (record, bool) {
	h, data, ok := CutHeader(line)
	if !ok || len(data) < 2 || data[len(data)-1] != '}' {
		return record{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(h.Time))
	if err != nil {
		return record{}, false
	}
	return record{Version, string(h.ID), string(h.Parent), string(h.Kind), at, data[:len(data)-1]}, true
}

// RawHeader is the header of a record as it lies in its line.
type RawHeader struct{ ID, Parent, Kind, Time []byte }

// CutHeader is for stores that keep records as lines. It finds the header of
// a record of the form that [Entry.Encode] writes, without checking it, and
// what follows it: the data, and the brace that ends the record. Of the line b
// the first 2 kB are enough for that.
func CutHeader(b []byte) (h RawHeader, rest []byte, ok bool) {
	const start = `{"v":1,"id":"`
	if len(b) < len(start) || string(b[:len(start)]) != start {
		return h, nil, false
	}
	rest = b[len(start):]
	for _, f := range [...]struct {
		to  *[]byte
		sep string
	}{{&h.ID, `","parent":"`}, {&h.Parent, `","kind":"`}, {&h.Kind, `","time":"`}, {&h.Time, `","data":`}} {
		i := bytes.IndexByte(rest[:min(len(rest), headerBytes+1)], '"')
		if i < 0 || len(rest) < i+len(f.sep) || string(rest[i:i+len(f.sep)]) != f.sep || bytes.IndexByte(rest[:i], '\\') >= 0 {
			return h, nil, false
		}
		*f.to = rest[:i]
		rest = rest[i+len(f.sep):]
	}
	return h, rest, len(h.ID) > 0 && len(h.Kind) > 0
}

func decodeData(kind string, raw json.RawMessage) (Data, error) {
	if dec := decoders[kind]; dec != nil {
		if len(raw) == 0 {
			return nil, errors.New("it has no data")
		}
		return dec(raw)
	}
	if len(raw) > 0 && !json.Valid(raw) {
		return nil, errors.New("its data is not JSON")
	}
	if k, ok := strings.CutPrefix(kind, notePrefix); ok && k != "" {
		return Note{Kind: k, Data: bytes.Clone(raw)}, nil
	}
	return Unknown{Kind: kind, Raw: bytes.Clone(raw)}, nil
}

var decoders = map[string]func(json.RawMessage) (Data, error){
	"message":     decodeAs[Message],
	"compaction":  decodeAs[Compaction],
	"setup":       decodeAs[Setup],
	"run_started": decodeAs[RunStarted],
	"run_ended":   decodeAs[RunEnded],
	"pending":     decodeAs[Pending],
	"queued":      decodeAs[Queued],
	"head":        decodeAs[Head],
	"label":       decodeAs[Label],
}

func known(kind string) bool {
	return decoders[kind] != nil || strings.HasPrefix(kind, notePrefix) && kind != notePrefix
}

func decodeAs[T Data](raw json.RawMessage) (Data, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}

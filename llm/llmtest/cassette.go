package llmtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	wires "github.com/cantle-dev/cantle/llm/internal/wire"
)

// cassette is the JSON form of a recording.
type cassette struct {
	Version   int         `json:"version"`
	Exchanges []*recorded `json:"exchanges"`
}

type recorded struct {
	Method   string          `json:"method"`
	Path     string          `json:"path"` // with the query; no host
	Request  json.RawMessage `json:"request,omitempty"`
	Text     string          `json:"text,omitempty"` // a request body that is not JSON
	Hash     string          `json:"hash"`           // of the request body, with keys sorted and no spaces
	Status   int             `json:"status"`
	Header   http.Header     `json:"header,omitempty"`
	Body     string          `json:"body"`
	Encoding string          `json:"encoding,omitempty"` // "base64" if the body is not UTF-8
	Chunks   []int           `json:"chunks"`             // bytes of each read
	Error    string          `json:"error,omitempty"`    // that ended the body before its end
}

const cassetteVersion = 1

// Record returns a transport that passes requests to rt and writes what went
// over it to a cassette at path, for [Replay]. A nil rt is
// [http.DefaultTransport]. The file is written anew whenever the body of
// a response was read to its end or closed; [Recorder.Close] tells of an error
// in that.
//
// Secrets are left out: no request header is kept, of the response's only those
// that clients act on, and no host. Values of query parameters and JSON fields
// that hold keys, whatever was sent as a key in this recording, and what looks
// like a key of a known provider are replaced; in streams, pieces of six bytes
// and more of a key that was sent. Prompts and answers are kept as they are:
// read a cassette before you publish it.
func Record(rt http.RoundTripper, path string) *Recorder {
	if rt == nil {
		rt = http.DefaultTransport
	}
	return &Recorder{rt: rt, path: path, tape: cassette{Version: cassetteVersion, Exchanges: []*recorded{}}}
}

// Recorder is the transport that [Record] makes. It is safe for concurrent use.
type Recorder struct {
	rt   http.RoundTripper
	path string

	mu      sync.Mutex
	tape    cassette
	secrets []string
	err     error
}

// RoundTrip is [http.RoundTripper]. A request that fails without a response is
// not recorded.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	resp, err := r.rt.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	rec := &recorded{Method: req.Method, Status: resp.StatusCode, Header: keptHeaders(resp.Header), Chunks: []int{}}
	r.mu.Lock()
	r.secrets = append(r.secrets, wires.Secrets(req)...)
	rec.Path = cleanPath(req.URL, r.secrets)
	clean := redactBody(body, r.secrets)
	if json.Valid(clean) {
		rec.Request = clean
	} else {
		rec.Text = string(clean)
	}
	rec.Hash = bodyHash(clean)
	r.tape.Exchanges = append(r.tape.Exchanges, rec)
	r.mu.Unlock()
	resp.Body = &recordingBody{ReadCloser: resp.Body, r: r, rec: rec}
	return resp, nil
}

// Close writes the cassette and returns the first error that writing it met.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write()
	return r.err
}

func (r *Recorder) write() {
	b, err := json.MarshalIndent(r.tape, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(r.path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(r.path, append(b, '\n'), 0o644)
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("llmtest: cassette: %w", err)
	}
}

// recordingBody notes what is read.
type recordingBody struct {
	io.ReadCloser
	r    *Recorder
	rec  *recorded
	raw  []byte
	done bool
}

func (b *recordingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	if n > 0 {
		b.raw = append(b.raw, p[:n]...)
		b.rec.Chunks = append(b.rec.Chunks, n)
	}
	if err != nil {
		if err != io.EOF {
			b.rec.Error = errorWord(err)
		}
		b.finish()
	}
	return n, err
}

func (b *recordingBody) Close() error {
	b.r.mu.Lock()
	b.finish()
	b.r.mu.Unlock()
	return b.ReadCloser.Close()
}

func (b *recordingBody) finish() {
	if b.done {
		return
	}
	b.done = true
	redact := redactSameLength
	if strings.HasPrefix(b.rec.Header.Get("Content-Type"), eventStream) {
		redact = redactFrames
	}
	clean := redact(b.raw, b.r.secrets)
	if utf8.Valid(clean) {
		b.rec.Body = string(clean)
	} else {
		b.rec.Body, b.rec.Encoding = base64.StdEncoding.EncodeToString(clean), "base64"
	}
	b.r.write()
}

func errorWord(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF.Error()
	}
	return "connection broken"
}

func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	b, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, fmt.Errorf("llmtest: request body: %w", err)
	}
	return b, nil
}

// bodyHash is the same for bodies that differ in the order of keys or in
// spaces only.
func bodyHash(b []byte) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if d.Decode(&v) == nil {
		b = encode(v)
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

// ReplayOptions configure [Replay].
type ReplayOptions struct {
	// Loose matches by method and path alone, for requests whose body holds
	// something that changes.
	Loose bool
	// AnyOrder lets requests come in another order than they were recorded in,
	// as those of parallel runs do.
	AnyOrder bool
}

// Replay returns a transport that answers from the cassette at path and opens
// no connection. Each recorded exchange is used once, in order; a request that
// differs is an error that names the first difference. The body comes in the
// same pieces as it was recorded, and ends in the same way.
func Replay(path string, opts ReplayOptions) (*Replayer, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("llmtest: cassette: %w", err)
	}
	var c cassette
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("llmtest: cassette %s: %w", path, err)
	}
	if c.Version != cassetteVersion {
		return nil, fmt.Errorf("llmtest: cassette %s: version %d, but this reads %d: record it anew", path, c.Version, cassetteVersion)
	}
	for i, e := range c.Exchanges {
		sum := 0
		body, err := e.bytes()
		for _, n := range e.Chunks {
			sum += n
		}
		if err != nil || sum != len(body) || slices.ContainsFunc(e.Chunks, func(n int) bool { return n <= 0 }) {
			return nil, fmt.Errorf("llmtest: cassette %s: exchange %d: the chunks add up to %d bytes, the body has %d", path, i+1, sum, len(body))
		}
	}
	return &Replayer{opts: opts, path: path, left: c.Exchanges, n: len(c.Exchanges)}, nil
}

// Replayer is the transport that [Replay] makes. It is safe for concurrent use.
type Replayer struct {
	opts ReplayOptions
	path string
	n    int

	mu   sync.Mutex
	left []*recorded
}

// Left is how many exchanges were not used yet.
func (p *Replayer) Left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.left)
}

// RoundTrip is [http.RoundTripper].
func (p *Replayer) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	secrets := wires.Secrets(req)
	path, clean := cleanPath(req.URL, secrets), redactBody(body, secrets)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.left) == 0 {
		return nil, fmt.Errorf("llmtest: cassette %s: all %d exchanges are used; there is none for %s %s", p.path, p.n, req.Method, path)
	}
	var first error
	for i, e := range p.left {
		err := e.matches(req.Method, path, clean, p.opts.Loose)
		if err == nil {
			p.left = slices.Delete(slices.Clone(p.left), i, i+1)
			return e.response(req)
		}
		if first == nil {
			first = fmt.Errorf("llmtest: cassette %s: exchange %d of %d: %w", p.path, p.n-len(p.left)+1, p.n, err)
		}
		if !p.opts.AnyOrder {
			break
		}
	}
	return nil, first
}

func (e *recorded) matches(method, path string, body []byte, loose bool) error {
	if e.Method != method || e.Path != path {
		return fmt.Errorf("the request is %s %s, recorded was %s %s", method, path, e.Method, e.Path)
	}
	if loose || e.Hash == bodyHash(body) {
		return nil
	}
	was := []byte(e.Text)
	if e.Request != nil {
		was = e.Request
	}
	var a, b any
	if json.Unmarshal(was, &a) != nil || json.Unmarshal(body, &b) != nil {
		return fmt.Errorf("the body is %s, recorded was %s", brief(string(body)), brief(string(was)))
	}
	if d := difference("", a, b); d != "" {
		return fmt.Errorf("the body differs: %s", d)
	}
	return fmt.Errorf("the body's hash is not the recorded one: the cassette was edited")
}

// difference names the first place where b is not as a was.
func difference(at string, a, b any) string {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			keys := map[string]bool{}
			for k := range a {
				keys[k] = true
			}
			for k := range b {
				keys[k] = true
			}
			for _, k := range slices.Sorted(maps.Keys(keys)) {
				was, hadIt := a[k]
				is, hasIt := b[k]
				name := strings.TrimPrefix(at+"."+k, ".")
				switch {
				case !hadIt:
					return name + " is new: " + brief(string(encode(is)))
				case !hasIt:
					return name + " is gone; it was " + brief(string(encode(was)))
				}
				if d := difference(name, was, is); d != "" {
					return d
				}
			}
			return ""
		}
	case []any:
		if b, ok := b.([]any); ok {
			for i := range min(len(a), len(b)) {
				if d := difference(fmt.Sprintf("%s[%d]", at, i), a[i], b[i]); d != "" {
					return d
				}
			}
			if len(a) != len(b) {
				return fmt.Sprintf("%s has %d items, recorded were %d", at, len(b), len(a))
			}
			return ""
		}
	}
	was, is := string(encode(a)), string(encode(b))
	if was == is {
		return ""
	}
	return fmt.Sprintf("%s is %s, recorded was %s", at, brief(is), brief(was))
}

func (e *recorded) bytes() ([]byte, error) {
	if e.Encoding == "base64" {
		return base64.StdEncoding.DecodeString(e.Body)
	}
	return []byte(e.Body), nil
}

func (e *recorded) response(req *http.Request) (*http.Response, error) {
	body, err := e.bytes()
	if err != nil {
		return nil, err
	}
	h := e.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status)), StatusCode: e.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, ContentLength: -1, Request: req,
		Body: &playedBody{req: req, data: body, chunks: e.Chunks, end: e.Error},
	}, nil
}

// playedBody gives its data in the recorded pieces.
type playedBody struct {
	req    *http.Request
	data   []byte
	chunks []int
	used   int // of the first chunk
	end    string
}

func (b *playedBody) Read(p []byte) (int, error) {
	if err := b.req.Context().Err(); err != nil {
		return 0, err
	}
	if len(b.chunks) == 0 {
		switch b.end {
		case "":
			return 0, io.EOF
		case io.ErrUnexpectedEOF.Error():
			return 0, io.ErrUnexpectedEOF
		}
		return 0, errors.New(b.end)
	}
	n := copy(p, b.data[:b.chunks[0]-b.used])
	b.data = b.data[n:]
	if b.used += n; b.used == b.chunks[0] {
		b.chunks, b.used = b.chunks[1:], 0
	}
	return n, nil
}

func (b *playedBody) Close() error { return nil }

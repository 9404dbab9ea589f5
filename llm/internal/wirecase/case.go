// Package wirecase replays recorded exchanges with providers against the
// adapters and compares what they make of them with what is expected. A case is
// a folder with case.json, and request.json, response.json and response.body
// for each exchange. Its exchanges are replayed as one conversation, whichever
// wires they are on.
//
//	dirs, err := wirecase.List(dir)
//	for _, d := range dirs {
//		c, err := wirecase.Load(d)
//		if err != nil {
//			return err
//		}
//		for _, fault := range c.Run(ctx, open) {
//			fmt.Println(fault)
//		}
//	}
package wirecase

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Case is one recorded case.
type Case struct {
	Name      string
	Dir       string
	Exchanges []Exchange
}

// Exchange is one request and its answer.
type Exchange struct {
	Dir      string `json:"dir"`
	Provider string `json:"provider"`
	Wire     string `json:"wire"`
	API      string `json:"api"` // which of a wire's calls, where it has several
	Expect   Expect `json:"expect"`

	request struct {
		Path string          `json:"path"`
		Body json.RawMessage `json:"body"`
	}
	response struct {
		Status  int                 `json:"status"`
		Headers map[string][]string `json:"headers"`
	}
	body   []byte
	chunks []int
}

// Expect is what an adapter should make of an answer.
type Expect struct {
	Text      string  `json:"text"`
	Thinking  string  `json:"thinking"`
	ToolCalls []Call  `json:"tool_calls"`
	Stop      *string `json:"stop"`
	StopRaw   any     `json:"stop_raw"` // a number where a provider sends one
	Usage     *struct {
		Input      int64 `json:"input"`
		Output     int64 `json:"output"`
		CacheRead  int64 `json:"cache_read"`
		CacheWrite int64 `json:"cache_write"`
		Reasoning  int64 `json:"reasoning"`
		ToolPrompt int64 `json:"tool_use_prompt"`
	} `json:"usage"`
	UsageNorm *struct {
		InputTotal  int64 `json:"input_total"`
		OutputTotal int64 `json:"output_total"`
	} `json:"usage_norm"`
	ErrorKind  *string  `json:"error_kind"`
	RetryAfter *float64 `json:"retry_after_s"`
	Retryable  *bool    `json:"retryable"`
	// Lenient says that more than one answer is right: what is named (or, for
	// true, all but the kind of the error) is not compared.
	Lenient     Lenient  `json:"lenient"`
	LenientKind []string `json:"lenient_kind"`
	Refusal     string   `json:"refusal"`
	// ServerBlocks are the kinds of blocks that the provider's own tools made.
	ServerBlocks []string `json:"server_blocks"`
	Opaque       []struct {
		Kind string `json:"kind"`
		Len  int    `json:"len"`
		Sum  string `json:"sha256"`
		Or   string `json:"or_sha256"`
	} `json:"opaque"`
}

// Call is a tool call as it should come out.
type Call struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	ArgsRaw *string         `json:"args_raw"`
	Input   *string         `json:"input"`
}

// calls leaves out ghosts: a call with neither a name nor an id, which some
// servers put beside the real ones. Stored, it would make every later request
// invalid, so an adapter drops it.
func (e *Expect) calls() []Call {
	return slices.DeleteFunc(slices.Clone(e.ToolCalls), func(c Call) bool { return c.Name == "" && c.ID == "" })
}

func (e *Expect) onlyGhosts() bool { return len(e.ToolCalls) > 0 && len(e.calls()) == 0 }

// Lenient is true, or the names of fields.
type Lenient struct {
	all   bool
	names []string
}

// UnmarshalJSON takes a truth value, a name, or a list of names.
func (l *Lenient) UnmarshalJSON(b []byte) error {
	var name string
	switch {
	case json.Unmarshal(b, &l.all) == nil, json.Unmarshal(b, &l.names) == nil:
		return nil
	case json.Unmarshal(b, &name) == nil:
		l.names = []string{name}
		return nil
	}
	return errors.New("lenient must be true, false, a field's name or a list of them")
}

func (l Lenient) has(name string) bool { return l.all || slices.Contains(l.names, name) }

// List names the folders of the cases under dir, in order.
func List(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "case.json"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("wirecase: no case.json in a folder of %s", dir)
	}
	for i := range files {
		files[i] = filepath.Dir(files[i])
	}
	return files, err
}

// Load reads the case in the folder dir.
func Load(dir string) (Case, error) {
	c, err := load(filepath.Join(dir, "case.json"))
	if err != nil {
		return Case{}, fmt.Errorf("wirecase: %w", err)
	}
	return c, nil
}

func load(file string) (Case, error) {
	var raw struct {
		Exchange
		Name      string     `json:"name"`
		Exchanges []Exchange `json:"exchanges"`
	}
	if err := readJSON(file, &raw); err != nil {
		return Case{}, err
	}
	if raw.Name == "" {
		raw.Name = filepath.Base(filepath.Dir(file))
	}
	c := Case{Name: raw.Name, Dir: filepath.Dir(file), Exchanges: raw.Exchanges}
	if len(c.Exchanges) == 0 {
		raw.Exchange.Dir = "."
		c.Exchanges = []Exchange{raw.Exchange}
	}
	for i := range c.Exchanges {
		x := &c.Exchanges[i]
		if x.Wire == "" {
			x.Wire = raw.Wire
		}
		if x.Provider == "" {
			x.Provider = raw.Provider
		}
		if x.API == "" {
			x.API = raw.API
		}
		dir := filepath.Join(c.Dir, x.Dir)
		if err := errors.Join(readJSON(filepath.Join(dir, "request.json"), &x.request),
			readJSON(filepath.Join(dir, "response.json"), &x.response)); err != nil {
			return Case{}, err
		}
		b, err := os.ReadFile(filepath.Join(dir, "response.body"))
		if err != nil {
			return Case{}, err
		}
		x.body = b
		if err := readJSON(filepath.Join(dir, "response.chunks.json"), &x.chunks); err != nil && !errors.Is(err, os.ErrNotExist) {
			return Case{}, err
		}
	}
	return c, nil
}

func readJSON(file string, v any) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

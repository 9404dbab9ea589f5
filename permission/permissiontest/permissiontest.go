// Package permissiontest holds a gate to a table of cases: which call, under
// which rules, is to come out how. It decides only; nothing is run, and no file
// is touched.
//
//	f, err := os.Open("cases.jsonl")
//	if err != nil {
//		return err
//	}
//	defer f.Close()
//	report, err := permissiontest.Run(f, permissiontest.Options{})
//	if err != nil {
//		return err // the file itself is malformed
//	}
//	fmt.Println(report) // each failure, and "12 passed, 1 failed"
//
// A case is a JSON object on a line of its own; see [Case]. Blank lines and
// lines that begin with // or # are passed over.
package permissiontest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/permission"
)

// Case is one line of a file of cases.
type Case struct {
	ID    string `json:"id"`
	Group string `json:"group,omitempty"`
	// Rules are all that hold; a case without any is decided by those of
	// [Options.Base].
	Rules *struct {
		Allow []string `json:"allow"`
		Deny  []string `json:"deny"`
		Ask   []string `json:"ask"`
	} `json:"rules,omitempty"`
	Mode   string          `json:"mode,omitempty"` // "" is that of [Options.Base]
	Tool   string          `json:"tool"`
	Input  json.RawMessage `json:"input"`
	Cwd    string          `json:"cwd,omitempty"` // the only root of the workspace; "" is that of [Options.Base], or /w
	Expect string          `json:"expect"`        // allow, ask or deny
	// Accept are further decisions that will do.
	Accept []string `json:"accept,omitempty"`
	Soft   bool     `json:"soft,omitempty"` // a matter of taste
	Why    string   `json:"why,omitempty"`
	Source string   `json:"source,omitempty"`
	Setup  *Setup   `json:"setup,omitempty"`
}

// Setup is what a case supposes.
type Setup struct {
	Symlink  map[string]string `json:"symlink,omitempty"`  // link: target
	Hardlink map[string]string `json:"hardlink,omitempty"` // name: other name
	Absent   []string          `json:"absent,omitempty"`
	// Annotations are what an MCP server says of the tool.
	Annotations struct {
		Title           string `json:"title,omitempty"`
		ReadOnlyHint    bool   `json:"readOnlyHint,omitempty"`
		DestructiveHint *bool  `json:"destructiveHint,omitempty"`
		IdempotentHint  bool   `json:"idempotentHint,omitempty"`
		OpenWorldHint   *bool  `json:"openWorldHint,omitempty"`
	} `json:"annotations,omitzero"`
	// ToolDefinitionChanged: the tool is not what it was when it was allowed.
	ToolDefinitionChanged bool `json:"tool_definition_changed,omitempty"`
	// Sandbox is how commands are confined.
	Sandbox *Sandbox `json:"sandbox,omitempty"`
	// Yes: whoever started the program said yes in advance.
	Yes bool `json:"yes,omitempty"`
}

// Sandbox is a [permission.Sandbox].
type Sandbox struct {
	Holds    bool     `json:"holds,omitempty"`
	Auto     bool     `json:"auto,omitempty"`
	Network  bool     `json:"network,omitempty"`
	Excluded []string `json:"excluded,omitempty"`
}

// Options configure [Run].
type Options struct {
	// Base is what cases are decided by as far as they do not say otherwise. A
	// case with rules or a setup of its own sees a file system of its own.
	Base permission.Options
}

// Report is what came of the cases.
type Report struct {
	Passed   int       `json:"passed"`
	Failures []Failure `json:"failures,omitempty"`
}

// Failure is a case that came out otherwise than it should.
type Failure struct {
	Line   int    `json:"line"`
	ID     string `json:"id"`
	Want   string `json:"want"` // all that would do, with commas
	Got    string `json:"got"`
	Reason string `json:"reason"` // of what came out
	Why    string `json:"why,omitempty"`
	// Open says that the call was allowed, and should not have been.
	Open bool `json:"open,omitempty"`
}

// String is each failure on a line, and the counts on the last.
func (r *Report) String() string {
	var b strings.Builder
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "line %d: %s: %s, want %s: %s", f.Line, f.ID, f.Got, f.Want, f.Reason)
		if f.Why != "" {
			fmt.Fprintf(&b, " (%s)", f.Why)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%d passed, %d failed", r.Passed, len(r.Failures))
	return b.String()
}

// maxCase bounds the bytes of one case.
const maxCase = 1 << 20

// Run decides on each case that r has. An error says which line is malformed.
func Run(r io.Reader, o Options) (*Report, error) {
	out := &Report{}
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxCase)
	for n := 1; in.Scan(); n++ {
		raw := bytes.TrimSpace(in.Bytes())
		if n == 1 {
			raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
		}
		if len(raw) == 0 || raw[0] == '#' || bytes.HasPrefix(raw, []byte("//")) {
			continue
		}
		var c Case
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&c); err != nil {
			return nil, fmt.Errorf("permissiontest: line %d: %w", n, err)
		}
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("permissiontest: line %d: %s: %w", n, cmp.Or(c.ID, "a case without id"), err)
		}
		v := c.Decide(o)
		want := c.Accept
		if len(want) == 0 {
			want = []string{c.Expect}
		}
		if slices.Contains(want, string(v.Effect)) {
			out.Passed++
			continue
		}
		out.Failures = append(out.Failures, Failure{
			Line: n, ID: cmp.Or(c.ID, fmt.Sprint("case ", n)), Want: strings.Join(want, ", "), Got: string(v.Effect), Reason: v.Reason, Why: c.Why,
			Open: v.Effect == permission.Allow,
		})
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("permissiontest: %w", err)
	}
	return out, nil
}

func (c *Case) check() error {
	if c.Tool == "" {
		return errors.New("it names no tool")
	}
	for _, e := range append([]string{c.Expect}, c.Accept...) {
		switch permission.Effect(e) {
		case permission.Allow, permission.Ask, permission.Deny:
		default:
			return fmt.Errorf("%q is not a decision: write allow, ask or deny", e)
		}
	}
	if c.Cwd != "" && !path.IsAbs(c.Cwd) {
		return fmt.Errorf("the cwd %q is not absolute", c.Cwd)
	}
	if c.Mode != "" {
		if _, err := permission.ParseMode(c.Mode); err != nil {
			return err
		}
	}
	return nil
}

// Decide decides on the case. An allow rule that is refused grants nothing; a
// restriction that is refused decides as one does that denies everything.
func (c *Case) Decide(o Options) permission.Verdict {
	g, r, err := c.request(o)
	if err != nil {
		return permission.Verdict{Effect: permission.Deny, Reason: err.Error()}
	}
	return g.Judge(r)
}

func (c *Case) request(o Options) (*permission.Gate, permission.Request, error) {
	base := o.Base
	if c.Rules != nil {
		base.Rules, base.Layers = permission.Rules{Deny: c.Rules.Deny, Ask: c.Rules.Ask}, nil
		for _, r := range c.Rules.Allow {
			if permission.CheckRule(r) == nil {
				base.Rules.Allow = append(base.Rules.Allow, r)
			}
		}
	}
	if c.Mode != "" {
		base.Mode = permission.Mode(c.Mode)
	}
	base.Home = cmp.Or(base.Home, "/home/u")
	switch {
	case c.Cwd != "":
		base.Project = ""
		base.Roots = []string{c.Cwd}
	case len(base.Roots) == 0:
		base.Project = ""
		base.Roots = []string{"/w"}
	}
	readOnly, changed := false, false
	if c.Rules != nil || c.Setup != nil {
		setup := c.Setup
		if setup == nil {
			setup = &Setup{}
		}
		base.FS = newTree(base.Roots[0], base.Home, setup)
		readOnly, changed = setup.Annotations.ReadOnlyHint, setup.ToolDefinitionChanged
		base.Yes = base.Yes || setup.Yes
		if s := setup.Sandbox; s != nil {
			base.Sandbox = &permission.Sandbox{Holds: func() bool { return s.Holds }, Auto: s.Auto, Network: s.Network, Excluded: s.Excluded}
		}
	}
	if changed {
		base.Changed = func(string) bool { return true }
	}
	g, err := permission.New(base)
	if err != nil {
		return nil, permission.Request{}, err
	}
	spec, acc, err := c.call(base.Roots[0], base.Home, base.Sandbox != nil)
	if err != nil {
		return nil, permission.Request{}, err
	}
	spec.ReadOnly = spec.ReadOnly || readOnly
	return g, permission.Request{Spec: spec, Input: c.Input, Dir: base.Roots[0], Access: acc}, nil
}

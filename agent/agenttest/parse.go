package agenttest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/internal/x/txtar"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/tool"
)

type script struct {
	opts   agent.Options
	deny   map[string]string // reasons by tool; so are the next two
	allow  map[string]string
	ends   map[string]string // the run
	tools  []*scripted
	steps  []llmtest.Reply
	inputs []string

	events, saw strings.Builder
}

func parse(a *txtar.Archive) (*script, error) {
	s := &script{deny: map[string]string{}, allow: map[string]string{}, ends: map[string]string{}}
	seen := map[string]bool{}
	for _, f := range a.Files {
		if seen[f.Name] && f.Name != "input" {
			return nil, fmt.Errorf("agenttest: there are two sections %q", f.Name)
		}
		seen[f.Name] = true
		var err error
		switch f.Name {
		case "options":
			err = eachLine(f, s.option)
		case "tools":
			err = eachLine(f, s.tool)
		case "model":
			err = s.model(f)
		case "input":
			s.inputs = append(s.inputs, strings.TrimSpace(f.Data))
		case "events", "saw":
		default:
			err = fmt.Errorf("agenttest: unknown section %q; there are options, tools, model, input, events and saw", f.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, want := range []string{"model", "input"} {
		if !seen[want] {
			return nil, fmt.Errorf("agenttest: there is no section %q", want)
		}
	}
	for key, by := range s.gates() {
		for name := range by {
			if s.named(name) == nil {
				return nil, fmt.Errorf("agenttest: section options: %s names %q, which is not in section tools", key, name)
			}
		}
	}
	for _, t := range s.tools {
		if t.spec.Parallel && len(t.results) > 1 {
			return nil, fmt.Errorf("agenttest: section tools: %s is parallel and has %d results: which call gets which would be chance", t.spec.Name, len(t.results))
		}
	}
	return s, nil
}

// eachLine calls fn for each line that is neither blank nor a comment.
func eachLine(f txtar.File, fn func(line string) error) error {
	n := 0
	for line := range strings.Lines(f.Data) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := fn(line); err != nil {
			return fmt.Errorf("agenttest: section %s, line %d: %w", f.Name, n, err)
		}
	}
	return nil
}

// unquoted is v, or the string it is if it is a quoted one.
func unquoted(v string) (string, error) {
	v = strings.TrimSpace(v)
	if !strings.HasPrefix(v, `"`) {
		return v, nil
	}
	out, err := strconv.Unquote(v)
	if err != nil {
		return "", fmt.Errorf("%s is not a quoted string", v)
	}
	return out, nil
}

func (s *script) option(line string) error {
	key, value, ok := strings.Cut(line, "=")
	key = strings.TrimSpace(key)
	if !ok {
		return fmt.Errorf("%q is not key = value", line)
	}
	value, err := unquoted(value)
	if err != nil {
		return err
	}
	number := func(to *int) error {
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("%s = %s is not a whole number", key, value)
		}
		*to = n
		return nil
	}
	switch key {
	case "system":
		s.opts.System = value
	case "dir":
		s.opts.Dir = value
	case "effort":
		s.opts.Effort = llm.Effort(value)
		if !slices.Contains(llm.Efforts(), s.opts.Effort) {
			return fmt.Errorf("effort = %s is none of %v", value, llm.Efforts())
		}
	case "max_tokens":
		return number(&s.opts.MaxTokens)
	case "max_turns":
		return number(&s.opts.Budget.Turns)
	case "max_calls":
		return number(&s.opts.Budget.Calls)
	case "max_errors":
		return number(&s.opts.Budget.Errors)
	case "parallelism":
		return number(&s.opts.Parallelism)
	case "require_finish":
		if s.opts.RequireFinish, err = strconv.ParseBool(value); err != nil {
			return fmt.Errorf("require_finish = %s is neither true nor false", value)
		}
	case "inline":
		on, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("inline = %s is neither true nor false", value)
		}
		if on {
			s.opts.Parallel = func(n int, do func(int)) {
				for i := range n {
					do(i)
				}
			}
		}
	case "deny", "allow", "interrupt":
		name, reason, _ := strings.Cut(value, ":")
		if reason = strings.TrimSpace(reason); reason == "" {
			return fmt.Errorf("%s wants a tool and a reason: %s = Write: not today", key, key)
		}
		s.gates()[key][strings.TrimSpace(name)] = reason
	default:
		return fmt.Errorf("unknown option %q", key)
	}
	return nil
}

// gates are what a gate does with the calls of tools, by option and tool.
func (s *script) gates() map[string]map[string]string {
	return map[string]map[string]string{"deny": s.deny, "allow": s.allow, "interrupt": s.ends}
}

func (s *script) named(name string) *scripted {
	for _, t := range s.tools {
		if t.spec.Name == name {
			return t
		}
	}
	return nil
}

func (s *script) tool(line string) error {
	head, value, ok := strings.Cut(line, ":")
	if !ok {
		return fmt.Errorf("%q is not a tool: write Name: text", line)
	}
	name, flags, flagged := strings.Cut(strings.TrimSpace(head), "(")
	if name = strings.TrimSpace(name); name == "" {
		return errors.New("a tool has no name")
	}
	var out result
	value, out.isError = strings.CutPrefix(strings.TrimSpace(value), "error:")
	var err error
	if out.text, err = unquoted(value); err != nil {
		return err
	}
	t := s.named(name)
	if t == nil {
		t = newScripted(name)
		s.tools = append(s.tools, t)
	} else if flagged {
		return fmt.Errorf("%s has its flags on its first line", name)
	}
	if flagged {
		if flags, ok = strings.CutSuffix(flags, ")"); !ok {
			return fmt.Errorf("the flags of %s have no closing parenthesis", name)
		}
		for flag := range strings.SplitSeq(flags, ",") {
			if err := t.flag(strings.TrimSpace(flag)); err != nil {
				return err
			}
		}
	}
	t.results = append(t.results, out)
	return nil
}

func (t *scripted) flag(flag string) error {
	switch flag {
	case "readonly":
		t.spec.ReadOnly = true
	case "parallel":
		t.spec.Parallel = true
	case "polls":
		t.spec.Polls = true
	case "child":
		t.child = true
	case "interrupt":
		t.ends = true
	case "complete":
		t.control = tool.Complete
	case "reject":
		t.control = tool.Reject
	case "cancel":
		t.control = tool.Cancel
	default:
		n, ok := strings.CutPrefix(flag, "meet=")
		var err error
		if t.meet, err = strconv.Atoi(n); !ok || err != nil || t.meet < 2 {
			return fmt.Errorf("unknown flag %q of %s", flag, t.spec.Name)
		}
	}
	return nil
}

// model reads the answers, which blank lines divide.
func (s *script) model(f txtar.File) error {
	var step llmtest.Reply
	begun, failed := false, false
	end := func() {
		if begun {
			s.steps = append(s.steps, step)
		}
		step, begun, failed = llmtest.Reply{}, false, false
	}
	n := 0
	for line := range strings.Lines(f.Data) {
		n++
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			end()
			continue
		case line[0] == '#':
			continue
		case failed:
			return fmt.Errorf("agenttest: section model, line %d: nothing comes after an error; leave a blank line before the next answer", n)
		}
		var err error
		if step, err = modelLine(step, line); err != nil {
			return fmt.Errorf("agenttest: section model, line %d: %w", n, err)
		}
		begun, failed = true, strings.HasPrefix(line, "error:")
	}
	end()
	return nil
}

func modelLine(r llmtest.Reply, line string) (llmtest.Reply, error) {
	key, value, ok := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	if !ok {
		return r, fmt.Errorf("%q is not a part: write text: …", line)
	}
	switch key {
	case "text", "think":
		text, err := unquoted(value)
		if err != nil {
			return r, err
		}
		if key == "think" {
			return r.Think(text), nil
		}
		return r.Say(text), nil
	case "call":
		id, rest, _ := strings.Cut(value, " ")
		name, args, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if id == "" || name == "" {
			return r, errors.New("a call wants an id, a name and arguments: call: c1 Read {\"path\":\"a\"}")
		}
		if args = strings.TrimSpace(args); args == "" {
			return r.CallID(id, name, nil), nil
		}
		return r.CallID(id, name, args), nil
	case "stop":
		if !slices.Contains(stops, llm.StopReason(value)) {
			return r, fmt.Errorf("%q is none of the reasons to stop: %v", value, stops)
		}
		return r.Stop(llm.StopReason(value)), nil
	case "error":
		kind, message, _ := strings.Cut(value, " ")
		if !slices.Contains(kinds, llm.Kind(kind)) {
			return r, fmt.Errorf("%q is none of the kinds of errors: %v", kind, kinds)
		}
		return r.Fail(&llm.Error{Kind: llm.Kind(kind), Message: strings.TrimSpace(message)}), nil
	}
	return r, fmt.Errorf("unknown part %q; there are text, think, call, stop and error", key)
}

var stops = []llm.StopReason{
	llm.StopEnd, llm.StopToolUse, llm.StopMaxTokens, llm.StopSequence, llm.StopRefusal,
	llm.StopContentFilter, llm.StopPause, llm.StopError, llm.StopOther,
}

var kinds = []llm.Kind{
	llm.KindAuth, llm.KindPermission, llm.KindNotFound, llm.KindContextOverflow, llm.KindTooLarge,
	llm.KindRateLimit, llm.KindQuota, llm.KindOverloaded, llm.KindServer, llm.KindInvalidRequest,
	llm.KindContentFilter, llm.KindStream, llm.KindTruncated, llm.KindCorrupt, llm.KindStalled, llm.KindNetwork,
}

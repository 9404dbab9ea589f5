package demo

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/cantle-dev/cantle/llm"
)

// purpose is what a call of the script is for. It is the end of the call's id,
// so that the script finds its own calls again.
type purpose string

const (
	look   purpose = "look"   // find files
	open   purpose = "read"   // read some of them
	run    purpose = "run"    // run a command
	again  purpose = "again"  // run another, since that one had nothing to say
	finish purpose = "answer" // give the answer that a schema asks for
)

func purposeOf(id string) (purpose, bool) {
	rest, ok := strings.CutPrefix(id, "demo_")
	if !ok {
		return "", false
	}
	p := purpose(rest[strings.LastIndexByte(rest, '_')+1:])
	return p, slices.Contains([]purpose{look, open, run, again, finish}, p)
}

// answerTool takes the answer where a schema is asked for through a tool.
const answerTool = "final_answer"

// The tools that the script can use, by the names that they go by, in lower
// case.
var (
	globNames = []string{"glob", "find_files"}
	grepNames = []string{"grep", "search", "search_files"}
	readNames = []string{"read", "read_file"}
	bashNames = []string{"bash", "shell", "run_shell", "run_command"}
)

// The commands that it runs: they change nothing.
const (
	logCommand  = "git log --oneline -n 3"
	listCommand = "ls"
)

// readLines is how much of a file is read.
const readLines = 80

type script struct {
	req    *llm.Request
	id     string
	prompt string
	words  []string // of the prompt, worth looking for
	steps  []step
	calls  []llm.ToolCall
}

func newScript(req *llm.Request, id string) *script {
	s := &script{req: req, id: id}
	s.prompt, s.steps = history(req.Messages)
	s.words = salient(s.prompt)
	return s
}

// next is the script's next message: the calls of the first part of the script
// that was not played yet and has any, or else the answer.
func (s *script) next() llm.Parts {
	choice := s.req.ToolChoice
	if choice.Mode == llm.ChoiceNone || len(s.req.Tools) == 0 {
		return s.answer()
	}
	if choice.Mode == llm.ChoiceTool {
		for _, t := range s.req.Tools {
			if t.Name == choice.Name {
				return s.fill(t)
			}
		}
	}
	for _, part := range []struct {
		purpose purpose
		say     string
		plan    func()
	}{
		{look, "I look for files first.", s.look},
		{open, "I read what says most about them.", s.read},
		{run, "I run a harmless command.", s.run},
		{again, "That had nothing to show, so I list the directory.", s.runAgain},
	} {
		if s.did(part.purpose) {
			continue
		}
		if part.plan(); len(s.calls) > 0 {
			return s.say(part.say)
		}
	}
	for _, t := range s.req.Tools {
		if t.Name == answerTool || choice.Mode == llm.ChoiceAny {
			return s.fill(t)
		}
	}
	return s.answer()
}

// say is a message of the planned calls, which says what it is in any case.
func (s *script) say(text string) llm.Parts {
	parts := llm.Texts("(Stand-in, not a language model.) " + text)
	for _, c := range s.calls {
		parts = append(parts, c)
	}
	return parts
}

func (s *script) did(p purpose) bool {
	return slices.ContainsFunc(s.steps, func(st step) bool { return st.purpose == p })
}

// fill calls t with a value that fits its schema.
func (s *script) fill(t llm.ToolSpec) llm.Parts {
	in := fill(t.Input, s.report())
	if in[0] != '{' {
		in = json.RawMessage("{}")
	}
	s.add(finish, t.Name, in)
	return s.say("I fill in what was asked for.")
}

func (s *script) add(p purpose, name string, in json.RawMessage) {
	id := s.id + "_" + strconv.Itoa(len(s.calls)) + "_" + string(p)
	s.calls = append(s.calls, llm.ToolCall{ID: id, Name: name, Input: in})
}

// tool finds the tool that goes by one of the names.
func (s *script) tool(names []string) (llm.ToolSpec, bool) {
	for _, n := range names {
		for _, t := range s.req.Tools {
			if strings.EqualFold(t.Name, n) {
				return t, true
			}
		}
	}
	return llm.ToolSpec{}, false
}

// arg is an argument, under the first of the names that the tool's schema has.
type arg struct {
	names    []string
	value    any
	optional bool
}

// plan adds a call of the tool if there is one that takes the arguments, and
// reports whether it did.
func (s *script) plan(p purpose, names []string, args ...arg) bool {
	t, ok := s.tool(names)
	if !ok {
		return false
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	_ = json.Unmarshal(t.Input, &schema) // one that cannot be read names nothing
	in := map[string]any{}
	for _, a := range args {
		i := slices.IndexFunc(a.names, func(n string) bool { _, ok := schema.Properties[n]; return ok })
		switch {
		case i >= 0:
			in[a.names[i]] = a.value
		case !a.optional && len(schema.Properties) == 0:
			in[a.names[0]] = a.value
		case !a.optional:
			return false
		}
	}
	for _, r := range schema.Required {
		if _, ok := in[r]; !ok {
			return false
		}
	}
	b, err := json.Marshal(in)
	if err != nil {
		return false
	}
	s.add(p, t.Name, b)
	return true
}

// look finds files by name, and lines by the words of the prompt.
func (s *script) look() {
	pattern := []string{"pattern", "glob"}
	listed := s.plan(look, globNames, arg{names: pattern, value: "*"})
	if listed {
		s.plan(look, globNames, arg{names: pattern, value: "**/*.{" + strings.Join(extensions(), ",") + "}"})
	} else if !s.plan(look, readNames, pathArg(".")) {
		s.planCommand(look, listCommand, "List the working directory")
	}
	for _, w := range s.words {
		s.plan(look, grepNames,
			arg{names: []string{"pattern", "query", "regex"}, value: quoteRegexp(w)},
			arg{names: []string{"output_mode"}, value: "content", optional: true},
			arg{names: []string{"case_insensitive", "ignore_case", "-i"}, value: true, optional: true},
			arg{names: []string{"head_limit", "max_results", "limit"}, value: 50, optional: true})
	}
}

// read opens the files that say most.
func (s *script) read() {
	for _, f := range telling(s.prompt, s.files(), s.hits()) {
		limit := arg{names: []string{"limit", "lines"}, value: readLines, optional: true}
		if !s.plan(open, readNames, pathArg(f), limit) {
			s.planCommand(open, "head -n 40 -- "+quoteShell(f), "Show the start of a file")
		}
	}
}

func (s *script) run() {
	s.planCommand(run, logCommand, "Show the last commits")
}

// runAgain lists the directory if the command could run but there was no
// history; one that was refused is not tried in another form.
func (s *script) runAgain() {
	for _, st := range s.steps {
		if st.purpose != run || !st.done {
			continue
		}
		text := strings.ToLower(st.text())
		for _, why := range []string{"not a git repository", "does not have any commits", "not found", "no such file"} {
			if strings.Contains(text, why) {
				s.planCommand(again, listCommand, "List the working directory")
				return
			}
		}
	}
}

func (s *script) planCommand(p purpose, command, what string) bool {
	return s.plan(p, bashNames,
		arg{names: []string{"command", "cmd"}, value: command},
		arg{names: []string{"description"}, value: what, optional: true})
}

func pathArg(name string) arg {
	return arg{names: []string{"file_path", "path", "file"}, value: name}
}

// quoteShell makes one word of a POSIX shell of s.
func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// quoteRegexp makes a pattern that matches s in every dialect.
func quoteRegexp(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(`\.+*?()|[]{}^$`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// value is the argument of st under one of the names.
func (st step) value(names ...string) string {
	var m map[string]any
	_ = json.Unmarshal(st.call.Input, &m) // the script's own call
	for _, n := range names {
		if v, ok := m[n].(string); ok {
			return v
		}
	}
	return ""
}

func (st step) is(names []string) bool {
	return slices.Contains(names, strings.ToLower(st.call.Name))
}

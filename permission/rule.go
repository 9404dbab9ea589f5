package permission

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Rules are rules as they are written in one place, such as a settings file.
//
// A rule is the name of a tool, "Bash", "mcp__github__*", or a name and what it
// is to match, in brackets:
//
//	Bash(git log:*)             a command that begins with these words
//	Bash(git * main)            a star stands for anything within one command
//	Bash(make test)             this command alone
//	Read(src/**) Edit(*.md)     paths, as in .gitignore: //x is absolute, /x is
//	                            from the project, ~/x from home, a/b from the
//	                            working directory, and x lies at any depth
//	WebFetch(domain:go.dev)     a host; *.go.dev are all below it
//	Agent(reviewer) Skill(tidy) by name
//
// \* is a star itself. Names that other programs have for a tool are taken for
// its own. Rules of Read hold for whatever reads a file, those of Edit for
// whatever writes one; what may not be read may not be written either.
type Rules struct {
	Allow, Deny, Ask []string
	Source           Source
}

// Source says where a rule was written.
type Source struct {
	Layer string `json:"layer,omitempty"` // managed, user, projectUser, project, local, flags, session …
	File  string `json:"file,omitempty"`
}

func (s Source) String() string {
	switch {
	case s.File == "":
		return s.Layer
	case s.Layer == "":
		return s.File
	}
	return s.File + " (" + s.Layer + ")"
}

// Rule is a rule as it was written, and where.
type Rule struct {
	Text   string `json:"text"`
	Effect Effect `json:"effect"`
	Source Source `json:"source"`
}

func (r Rule) String() string {
	if s := r.Source.String(); s != "" {
		return fmt.Sprintf("the %s rule %q of %s", r.Effect, r.Text, s)
	}
	return fmt.Sprintf("the %s rule %q", r.Effect, r.Text)
}

// family is what kind of thing a tool's rules are written over.
type family int

const (
	plain    family = iota // the name alone, or paths that it says it touches
	commands               // Bash
	reading                // Read, Glob, Grep
	writing                // Edit, Write
	hosts                  // WebFetch
	agents                 // Agent
	skills                 // Skill
	server                 // mcp__…
)

// toolNames are the names under which rules may speak of tools, by the tool's
// own; a tool's Spec may have more.
var toolNames = map[string][]string{
	"Bash":            {"bash", "shell", "Shell", "run_shell", "run_shell_command", "run_command", "execute_command", "python_exec"},
	"Read":            {"read_file", "read_many_files", "view", "view_image", "list_dir", "list_directory", "LS"},
	"Edit":            {"edit_file", "replace", "replace_in_file", "str_replace", "NotebookEdit", "MultiEdit", "apply_patch"},
	"Write":           {"write_file", "create_file", "write_to_file"},
	"Glob":            {"glob", "find_files", "search_files_by_name", "list_files"},
	"Grep":            {"grep", "search_files", "search_file_content", "search", "ripgrep"},
	"WebFetch":        {"web_fetch", "webfetch", "fetch"},
	"WebSearch":       {"web_search", "websearch", "google_web_search"},
	"TodoWrite":       {"todo_write", "write_todos"},
	"Agent":           {"Task", "task", "delegate", "subagent"},
	"Skill":           {"skill", "use_skill"},
	"AskUserQuestion": {"ask_user", "ask_followup_question"},
	"Jobs":            {"BashOutput", "KillShell", "KillBash"},
	"McpResource":     {"ListMcpResources", "ReadMcpResource", "access_mcp_resource"},
	"EnterPlanMode":   {"enter_plan_mode"},
	"ExitPlanMode":    {"exit_plan_mode"},
	"Remember":        {"save_memory"},
}

// ownNames are the tools' own names by all others.
var ownNames = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for own, others := range toolNames {
		for _, o := range others {
			out[o] = own
		}
	}
	return out
})

// ownName is a tool's own name for any name of it.
func ownName(name string) string {
	if own, ok := ownNames()[name]; ok {
		return own
	}
	return name
}

// ToolName is a tool's own name for any name by which rules may speak of it.
func ToolName(name string) string { return ownName(name) }

func familyOf(own string) family {
	switch own {
	case "Bash":
		return commands
	case "Read", "Glob", "Grep":
		return reading
	case "Edit", "Write":
		return writing
	case "WebFetch":
		return hosts
	case "Agent":
		return agents
	case "Skill":
		return skills
	}
	if strings.HasPrefix(own, "mcp__") {
		return server
	}
	return plain
}

// rule is a rule, made ready.
type rule struct {
	Rule
	name    string // of the tool: its own, or with stars
	family  family
	content string // "" is none
	command *pattern
	paths   *paths
	host    string
}

// CheckRule says what is wrong with a rule that a gate would not understand.
func CheckRule(text string) error {
	_, err := parseRule(Rule{Text: text, Effect: Deny}, places{root: "/", home: "/"})
	return err
}

func parseRule(r Rule, at places) (*rule, error) {
	out := &rule{Rule: r}
	bad := func(why string) (*rule, error) { return nil, fmt.Errorf("%q: %s", r.Text, why) }
	text := strings.TrimSpace(r.Text)
	if strings.ContainsAny(text, "\x00\r") || strings.ContainsRune(text, '\uFFFD') {
		return bad("it holds bytes that no rule has")
	}
	name, rest, bracket := strings.Cut(text, "(")
	name = strings.TrimSpace(name)
	switch {
	case bracket && !strings.HasSuffix(rest, ")"):
		return bad("the closing bracket is missing at its end: write " + name + "(…)")
	case name == "":
		return bad("it is not the name of a tool: begin with one, as in Bash(git log:*)")
	}
	for i := range len(name) {
		c := name[i]
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if (c < '0' || c > '9') && !strings.ContainsRune("_-.:*@", rune(c)) && c < 0x80 {
				return bad(fmt.Sprintf("%q is not the name of a tool: what it is to match goes in brackets, as in Read(/etc/**)", name))
			}
		}
	}
	out.name = ownName(name)
	out.family = familyOf(out.name)
	if !bracket {
		return out, nil
	}
	out.content = strings.TrimSpace(strings.TrimSuffix(rest, ")"))
	if out.content == "" {
		return bad("nothing stands in the brackets: for every use of the tool write " + name + " alone")
	}
	if strings.Contains(name, "*") {
		return bad("a name with a star takes nothing in brackets: name the tool")
	}
	var err error
	switch out.family {
	case server:
		return bad("tools of MCP servers are named alone: leave the brackets out")
	case commands:
		out.command, err = parsePattern(out.content)
	case reading, writing, plain:
		out.paths, err = parsePaths(out.content, r.Effect, at)
	case hosts:
		out.host, err = parseHost(out.content)
	case agents, skills:
		if strings.ContainsAny(out.content, "\n\t") {
			err = errors.New("a name has no line breaks and no tabs")
		}
	}
	if err != nil {
		return bad(err.Error())
	}
	return out, nil
}

// named reports whether the rule speaks of a tool of these names.
func (r *rule) named(names []string) bool {
	for _, n := range names {
		switch {
		case r.name == n:
			return true
		case strings.HasPrefix(r.name, "mcp__"):
			// A server alone means all of its tools, each of which has a name.
			want := r.name
			if strings.Count(want, "__") == 1 && !strings.Contains(want, "*") {
				if want == "mcp__" {
					continue
				}
				want += "__*"
			}
			// A tool has a name: mcp__a__ is none, and no permission covers it.
			if like(want, n) && (r.Effect != Allow || !strings.HasSuffix(n, "__")) {
				return true
			}
		case strings.Contains(r.name, "*") && like(r.name, n):
			return true
		case r.content == "" && r.name == "Edit" && n == "Write": // rules of Edit cover Write
			return true
		}
	}
	return false
}

// like matches a name in which a star stands for any characters.
func like(rule, name string) bool {
	first, rest, star := strings.Cut(rule, "*")
	if !star {
		return rule == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(name, rest)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], more
	}
}

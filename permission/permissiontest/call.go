package permissiontest

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/permission"
	"github.com/cantle-dev/cantle/tool"
)

// The other names of arguments, as the built-in tools take them.
var (
	commandNames = []string{"command", "cmd", "script"}
	fileNames    = []string{"file_path", "path", "file", "filename", "notebook_path"}
	dirNames     = []string{"path", "dir", "directory", "file_path", "dir_path", "root"}
	globNames    = []string{"pattern", "glob", "glob_pattern", "file_pattern"}
	urlNames     = []string{"url", "uri", "link"}
)

// arguments are those of a call.
type arguments map[string]any

// text is an argument by any of its names. Anything but a text is an error.
func (a arguments) text(names []string) (string, error) {
	for _, n := range names {
		switch v := a[n].(type) {
		case nil:
		case string:
			return v, nil
		default:
			return "", fmt.Errorf("the argument %s is no text", n)
		}
	}
	return "", nil
}

// call is what the built-in tool of that name would say of the input. An error
// is one of the tool: the call would not be decided on, and would not run.
func (c *Case) call(dir, home string, confined bool) (spec tool.Spec, acc []tool.Access, err error) {
	spec.Name = permission.ToolName(c.Tool)
	if spec.Name != c.Tool {
		spec.Aliases = []string{c.Tool}
	}
	var in arguments
	if len(c.Input) > 0 {
		if err := json.Unmarshal(c.Input, &in); err != nil {
			return spec, nil, fmt.Errorf("the input is not a JSON object: %w", err)
		}
	}
	switch spec.Name {
	case "Bash":
		acc, err = in.command(confined)
	case "Read":
		spec.ReadOnly = true
		acc, err = in.file(tool.Read, dir, home)
	case "Edit", "Write":
		acc, err = in.file(tool.Write, dir, home)
	case "Grep", "Glob":
		spec.ReadOnly = true
		acc, err = in.search(spec.Name == "Glob", dir, home)
	case "WebFetch":
		spec.ReadOnly = true
		var url string
		if url, err = in.text(urlNames); err == nil && url == "" {
			err = errors.New("the URL is missing")
		}
		acc = []tool.Access{{Op: tool.Connect, Target: url}}
	case "WebSearch":
		spec.ReadOnly = true // and where it connects to is a setting
	case "Skill", "TodoWrite", "AskUserQuestion", "Jobs", "EnterPlanMode", "ExitPlanMode":
		spec.ReadOnly, acc = true, []tool.Access{}
	case "Agent":
		acc = []tool.Access{}
	}
	return spec, acc, err
}

func (a arguments) command(confined bool) ([]tool.Access, error) {
	command, err := a.text(commandNames)
	switch {
	case err != nil:
		return nil, err
	case strings.TrimSpace(command) == "":
		return nil, errors.New("the command is missing")
	case strings.IndexByte(command, 0) >= 0:
		return nil, errors.New("the command holds a NUL byte")
	}
	acc := []tool.Access{{Op: tool.Exec, Target: command}}
	if !confined {
		return acc, nil
	}
	switch a["sandbox"] {
	case nil, "":
	case "network":
		acc = append(acc, tool.Access{Op: tool.Connect, Target: tool.Anywhere})
	case "off":
		acc = append(acc, tool.Access{Op: tool.Write, Target: tool.Anywhere})
	default:
		return nil, errors.New(`the argument sandbox is "network" or "off"`)
	}
	return acc, nil
}

func (a arguments) file(op tool.Op, dir, home string) ([]tool.Access, error) {
	p, err := a.text(fileNames)
	if err != nil {
		return nil, err
	}
	return at(op, p, dir, home)
}

func (a arguments) search(glob bool, dir, home string) ([]tool.Access, error) {
	p, err := a.text(dirNames)
	if err != nil {
		return nil, err
	}
	if p == "" {
		p = "."
	}
	if glob {
		pattern, err := a.text(globNames)
		switch {
		case err != nil:
			return nil, err
		case strings.TrimSpace(pattern) == "":
			return nil, errors.New("the pattern is empty")
		}
		// The search begins in the folder that the pattern begins with.
		names := strings.Split(pattern, "/")
		i := slices.IndexFunc(names, func(n string) bool { return strings.ContainsAny(n, `*?[{\`) })
		switch from := strings.Join(names[:max(i, 0)], "/"); {
		case i < 0:
			from = pattern
			fallthrough
		case from != "" || strings.HasPrefix(pattern, "/"):
			if from == "" {
				from = "/"
			}
			if p == "." || path.IsAbs(from) || strings.HasPrefix(from, "~") {
				p = from
			} else {
				p += "/" + from
			}
		}
	}
	return at(tool.Read, p, dir, home)
}

// at is a path of a call, as the tools take it.
func at(op tool.Op, p, dir, home string) ([]tool.Access, error) {
	switch {
	case strings.TrimSpace(p) == "":
		return nil, errors.New("the path is missing")
	case strings.IndexByte(p, 0) >= 0:
		return nil, errors.New("the path holds a NUL byte")
	case strings.HasPrefix(strings.ToLower(p), "file://"), strings.HasPrefix(p, `\\`), strings.HasPrefix(p, `\??\`):
		return nil, fmt.Errorf("%q is no path of this machine", p)
	case p == "~" || strings.HasPrefix(p, "~/"):
		p = home + p[1:]
	case !path.IsAbs(p):
		p = dir + "/" + p
	}
	return []tool.Access{{Op: op, Target: p}}, nil
}

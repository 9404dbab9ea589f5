package app

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/memory"
)

//go:embed base.md
var baseGuidance string

//go:embed lean.md
var leanGuidance string

// leanWindow is the window below which the model gets fewer tools and shorter
// guidance.
const leanWindow = 16_000

// environment is the section about where the run takes place. It holds nothing
// that changes while a session goes on.
func environment(dir string, add []string, info llm.Info) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Environment\n- Working directory: %s\n", dir)
	for _, d := range add {
		fmt.Fprintf(&b, "- Also in the workspace: %s\n", d)
	}
	root := memory.ProjectRoot(dir)
	if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
		fmt.Fprintf(&b, "- Git repository: yes, from %s\n", root)
	} else {
		b.WriteString("- Git repository: no\n")
	}
	fmt.Fprintf(&b, "- Platform: %s/%s\n- Model: %s", runtime.GOOS, runtime.GOARCH, info.Ref())
	return b.String()
}

func (o Options) system(info llm.Info) string {
	switch {
	case o.Config.System != "":
		return o.Config.System
	case info.Context < leanWindow:
		return strings.TrimSpace(leanGuidance)
	}
	return strings.TrimSpace(baseGuidance)
}

// sections are the parts of the prompt that a user's own base does not replace.
func (o Options) sections(add []string, info llm.Info) agent.Middleware {
	return agent.Middleware{Name: "sections", Priority: 0, Start: func(_ context.Context, _ *agent.Turn, s *agent.Setup) error {
		last := denialSection
		if info.Traits.NoTools {
			last = toollessSection
		}
		s.System = append(s.System, environment(o.Dir, add, info), last)
		return nil
	}}
}

// appended comes last.
func (o Options) appended() agent.Middleware {
	return agent.Middleware{Name: "append", Priority: 900, Start: func(_ context.Context, _ *agent.Turn, s *agent.Setup) error {
		if t := o.Config.AppendSystem; t != "" {
			s.System = append(s.System, t)
		}
		return nil
	}}
}

const toollessSection = "You have no tools here: you can neither read nor change files, nor run commands. Answer from what you are given, and say what else you would need to see."

const denialSection = "A call that the user or a rule denies is answered with the reason. Do not try to reach the same by another way: do without it, or say what you need and why."

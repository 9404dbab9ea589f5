package builtin

import "github.com/cantle-dev/cantle/tool"

// Tools returns all tools, sharing what they must share.
func Tools(o Options) []tool.Tool {
	o = o.filled()
	return []tool.Tool{Read(o), Write(o), Edit(o), Bash(o), Jobs(o), Glob(o), Grep(o), TodoWrite(o)}
}

// Lean returns the few tools that a model with a small window is given.
func Lean(o Options) []tool.Tool {
	o = o.filled()
	return []tool.Tool{Read(o), Edit(o), Bash(o), Jobs(o), Grep(o)}
}

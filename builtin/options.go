package builtin

import (
	"context"

	"github.com/cantle-dev/cantle/llm"
)

// Options configure the tools. The zero value works on the local file system,
// in the directory of each call.
type Options struct {
	// Root is the workspace, absolute. Paths in it are shown relative to it,
	// and calls that have no directory of their own run there.
	Root string
	// AddDirs are further roots of the workspace, absolute.
	AddDirs []string
	// Home is what a leading "~/" in a path stands for; "" refuses such paths.
	Home string
	// FS is where files are; nil is the local file system.
	FS FS
	// Files remembers what each agent has read. Tools that are made one by one
	// must be given the same one; [Tools] and [Lean] make one if it is nil.
	Files *Files
	// Traits says what the model takes, for images and PDF documents. Nil asks
	// the agent that runs the call; with no agent, nothing but text is taken.
	Traits func(ctx context.Context) llm.Traits
	// TodoDir keeps the todo list in a directory, one file a task, for all
	// sessions of a project. If it is "", each session has its own list.
	TodoDir string
}

// fs returns the file system to use.
func (o Options) fs() FS {
	if o.FS != nil {
		return o.FS
	}
	return localFS{}
}

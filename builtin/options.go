package builtin

import (
	"context"
	"io"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/sandbox"
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
	// TodoDir keeps the todo list in a directory, one file an entry, for all
	// sessions of a project. If it is "", each session has its own list.
	TodoDir string
	// Runner runs the commands of Bash; nil runs them on this machine.
	Runner sandbox.Runner
	// Confine confines the commands of Bash; nil leaves them as the runner has
	// them. The runner is first used when a command runs, so that one may be
	// given that is opened only then.
	Confine *Confine
	// Jobs holds what runs in the background; nil is a table of its own.
	Jobs *JobTable
	// Environ is the environment, as "NAME=value", of which commands get the
	// variables on the allow-list. The tools do not read [os.Environ]: with
	// nil, commands get none of it.
	Environ []string
	// Env adds to the environment of commands.
	Env map[string]string
	// Hidden are variables that no command gets, such as those with keys.
	Hidden []string
	// OutputDir is the folder for the whole outputs of a session; nil keeps
	// none.
	OutputDir func(session string) (string, error)
	// Filter, if there is one, is what the output of a command passes through
	// before it is shown or kept anywhere. What it returns may keep back what it
	// needs to see the rest of; Close writes that, when the command has exited,
	// and may be called again. It must be safe for concurrent use.
	Filter func(w io.Writer) io.WriteCloser
	// Web configures WebFetch and WebSearch.
	Web WebOptions
}

// fs returns the file system to use.
func (o Options) fs() FS {
	if o.FS != nil {
		return o.FS
	}
	return localFS{}
}

// filled is o with what the tools must share.
func (o Options) filled() Options {
	if o.Files == nil {
		o.Files = NewFiles()
	}
	if o.Jobs == nil {
		o.Jobs = NewJobs()
	}
	if o.Runner == nil {
		o.Runner = sandbox.Local(sandbox.LocalOptions{})
	}
	return o
}

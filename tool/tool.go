// Package tool defines what a model may call: the [Tool] interface, and [New],
// which makes a tool from an ordinary Go function.
//
//	type in struct {
//		City string `json:"city" doc:"the city to look up"`
//	}
//	weather := tool.New(tool.Spec{
//		Name:        "Weather",
//		Description: "Says the weather in a city.",
//		ReadOnly:    true,
//		Access:      tool.NoAccess,
//	}, func(ctx context.Context, in in) (string, error) {
//		return lookUp(ctx, in.City)
//	})
//
// A tool knows nothing of the agent that runs it, of permissions, or of the
// user: it says what a call would touch ([Spec.Access]), and the agent's gate
// decides.
package tool

import (
	"context"
	"encoding/json"

	"github.com/cantle-dev/cantle/llm"
)

// Tool is something the model can call.
//
// Call runs it. The result goes to the model; an error does too, as a result
// with IsError, unless it was marked by [Fatal]: that ends the run. Call
// honours the context: when it ends, everything that the call started has
// stopped before Call returns. Implementations whose Spec says Parallel must
// be safe for concurrent use; all must be safe for use by several runs.
type Tool interface {
	Spec() Spec
	Call(ctx context.Context, c *Call) (*Result, error)
}

// Spec describes a tool to the model and to the loop. It must not change
// within a run. The zero value of each field is the safe one.
type Spec struct {
	Name        string
	Description string
	Input       json.RawMessage // JSON Schema of an object; [New] fills it in
	// Format makes it a custom tool on wires that have them: see
	// [llm.ToolSpec.Format].
	Format json.RawMessage
	// Aliases are other names under which rules and lists may speak of it.
	// The model is told Name only.
	Aliases []string
	// Hosted names a tool of the provider's that takes this one's place where
	// the model has it: see [llm.ToolSpec.Hosted]. No call of it comes, so that
	// nothing decides on one: whoever offers it has decided. Without an Input
	// it is for such models alone.
	Hosted string

	ReadOnly bool // makes no change that the user could notice
	Parallel bool // may run beside other calls of its turn
	Deferred bool // may be found by a search rather than listed from the start
	Polls    bool // is called again with the same input as a matter of course

	// Access says what a call would touch, from its input. The decision is
	// made on what it returns. An error goes to the model and the call does
	// not run. A tool with a nil Access is always asked about; one that
	// touches nothing says [NoAccess].
	Access func(ctx context.Context, c *Call) ([]Access, error)
}

// NoAccess is the Access of a tool that touches nothing outside the program.
func NoAccess(context.Context, *Call) ([]Access, error) { return []Access{}, nil }

// Call is one use of a tool.
type Call struct {
	ID, Name string
	Input    json.RawMessage
	// Dir is the agent's working directory, absolute. A child may have its own.
	Dir string
	// Access is what was decided on. A command runs Access[0].Target, which is
	// the text that was analysed, and not its Input.
	Access []Access
	// Check says whether the policy lets the running call touch a. It asks
	// nobody: Grep and Glob drop what it refuses. Nil allows everything.
	Check func(a Access) error
	// Progress shows partial output to whoever watches the run; nil when
	// nobody does. It may be called from any goroutine; what comes after the
	// result is dropped. It is never recorded and never sent to the model.
	Progress func(p llm.Part)
}

// Show passes p to Progress, if there is one.
func (c *Call) Show(p llm.Part) {
	if c.Progress != nil {
		c.Progress(p)
	}
}

// Result is the outcome of a call.
type Result struct {
	Parts   llm.Parts // what the model sees
	IsError bool
	Control Control
	// Pin keeps the result in the model's view when older ones are cleared; it
	// names what pins it, such as "skill:review". A later result with the same
	// Pin replaces it.
	Pin string
	// Detail is for programs: it is recorded in the journal and shown to hooks
	// and user interfaces, and never sent to the model.
	Detail json.RawMessage
}

// Text makes a result of one text.
func Text(text string) *Result { return &Result{Parts: llm.Texts(text)} }

// Error makes a result of one text that tells the model what went wrong.
func Error(text string) *Result { return &Result{Parts: llm.Texts(text), IsError: true} }

// Control is what a result asks of the run, apart from what it tells the model.
type Control int

// The controls.
const (
	Continue Control = iota
	Complete         // the task is done: the run ends, stopped "tool_completion"
	Reject           // the tool refuses the task: "tool_rejected"
	Cancel           // the tool calls the run off: "tool_cancelled"
)

// Access is one thing that a call would touch. Permission rules are written
// over it.
type Access struct {
	Op     Op     `json:"op"`
	Target string `json:"target"` // an absolute path, a command line, or a URL
}

// Op is a way to touch something.
type Op string

// The operations.
const (
	Read    Op = "read"
	Write   Op = "write"
	Exec    Op = "exec"
	Connect Op = "connect"
)

// Anywhere is the target of an access that goes with a command, which no list of
// places could hold: with Connect the command may use the network, with Write it
// runs outside of the sandbox. Without them a command that is confined has
// neither.
const Anywhere = "*"

// Previewer is implemented by tools that can show what a call would do. Its
// error goes to the model, and nobody is asked.
type Previewer interface {
	Preview(ctx context.Context, c *Call) (*Preview, error)
}

// Preview is what an approval shows.
type Preview struct {
	Title string `json:"title"`          // one line
	Diff  string `json:"diff,omitempty"` // a unified diff
	Text  string `json:"text,omitempty"` // a whole command or snippet
}

// Set is a group of tools that is known only at run time, such as an MCP
// server's. It is asked at the start of each run.
type Set interface {
	Tools(ctx context.Context) ([]Tool, error)
}

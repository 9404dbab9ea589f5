package agent

import (
	"context"
	"errors"

	"github.com/cantle-dev/cantle/tool"
)

// Interrupt is the error that ends the run as its user would by stopping it:
// with [StopInterrupted], not as an error, and with the reason in the result.
// Any function of a [Middleware], [Options.Ask] and a tool may return it. If
// the run is a child's, the runs above it end too, and with them their other
// children.
//
// A Gate's call is denied with the reason; no other call of the turn begins, and
// those that run are cancelled. Each has a result that says so.
func Interrupt(reason string) error { return &interruptError{reason} }

type interruptError struct{ reason string }

func (e *interruptError) Error() string { return "the run was interrupted: " + e.reason }

// interrupted ends the run, and all above it, if err is an [Interrupt].
func (r *runner) interrupted(err error) bool {
	why, ok := errors.AsType[*interruptError](err)
	if !ok {
		return false
	}
	for {
		r.cancel(why)
		if r.st.parent == nil {
			return true
		}
		r = r.st.parent.r
	}
}

// cancelled is the result of a call that the end of the run's context cut off,
// or did not let begin.
func (r *runner) cancelled() *tool.Result {
	if why, ok := errors.AsType[*interruptError](context.Cause(r.ctx)); ok {
		return tool.Error("Interrupted: " + why.reason)
	}
	return tool.Error(cancelText)
}

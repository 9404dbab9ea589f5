package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/cantle-dev/cantle/llm"
)

// New makes a tool from fn. The input's schema comes from In, which must be a
// struct: see [SchemaFor]. Arguments that do not fit it are an [*InputError], and
// fn is not called: see [Decode]. An Out that is a string, [llm.Parts] or *[Result]
// is sent as it is; any other is sent as JSON, which is the Detail too.
//
// It panics if the spec has no name or In cannot come from JSON: both are bugs
// in the program, not conditions that it can meet.
func New[In, Out any](s Spec, fn func(ctx context.Context, in In) (Out, error)) Tool {
	if s.Name == "" {
		panic("tool: New: the spec has no name")
	}
	schema := SchemaFor[In]()
	if s.Input == nil {
		s.Input = schema
	}
	return &funcTool[In, Out]{s, fn}
}

type funcTool[In, Out any] struct {
	spec Spec
	fn   func(context.Context, In) (Out, error)
}

func (t *funcTool[In, Out]) Spec() Spec { return t.spec }

func (t *funcTool[In, Out]) Call(ctx context.Context, c *Call) (*Result, error) {
	in, err := Decode[In](c.Input)
	if err != nil {
		return nil, err
	}
	out, err := t.fn(context.WithValue(ctx, callKey{}, c), in)
	if err != nil {
		return nil, err
	}
	switch v := any(out).(type) {
	case string:
		return Text(v), nil
	case llm.Parts:
		return &Result{Parts: v}, nil
	case *Result:
		if v == nil {
			return nil, noResult(t.spec.Name)
		}
		return v, nil
	}
	b, err := marshal(out)
	if err != nil {
		return nil, fmt.Errorf("%s: the result has no JSON form: %w", t.spec.Name, err)
	}
	return &Result{Parts: llm.Texts(string(b)), Detail: b}, nil
}

// Normalize is [Normalizer.Normalize].
func (t *funcTool[In, Out]) Normalize(raw json.RawMessage) (json.RawMessage, error) {
	return mend(shapeOf(reflect.TypeFor[In]()), raw)
}

type callKey struct{}

// FromContext returns the call that a function given to [New] serves, or nil.
func FromContext(ctx context.Context) *Call { c, _ := ctx.Value(callKey{}).(*Call); return c }

// AccessFor makes a [Spec.Access] from a function of the decoded input.
func AccessFor[In any](fn func(ctx context.Context, c *Call, in In) ([]Access, error)) func(context.Context, *Call) ([]Access, error) {
	return func(ctx context.Context, c *Call) ([]Access, error) {
		in, err := Decode[In](c.Input)
		if err != nil {
			return nil, err
		}
		return fn(ctx, c, in)
	}
}

// PanicError is a panic in a tool. Its text, which the model is shown, has no
// stack; logs may show the Stack.
type PanicError struct {
	Tool  string
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("the tool %s failed with an internal error: %s", e.Tool, clip(fmt.Sprint(e.Value)))
}

// Unwrap returns the value of the panic if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Run calls t with c. A panic is returned as a [*PanicError]; a nil result
// without an error is an error.
func Run(ctx context.Context, t Tool, c *Call) (res *Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			res, err = nil, &PanicError{Tool: c.Name, Value: v, Stack: debug.Stack()}
		}
	}()
	res, err = t.Call(ctx, c)
	if res == nil && err == nil {
		err = noResult(c.Name)
	}
	return res, err
}

func noResult(name string) error { return errors.New("the tool " + name + " gave no result") }

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/tool"
)

// AnswerTool is the name of the tool by which a model gives a structured
// answer, where it has no way of its own.
const AnswerTool = "final_answer"

// maxAnswers bounds the attempts at a structured answer.
const maxAnswers = 3

const answerSection = "Give your final answer by calling the tool " + AnswerTool + ", once, when the task is done. Text outside of it is not taken as the answer."

// SchemaError means that the model gave no answer of the schema.
type SchemaError struct {
	Attempts int
	Text     string // the last answer
	Reason   string // what was wrong with it
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("agent: no answer of the schema after %d attempts: %s", e.Attempts, e.Reason)
}

// RunAs runs a as [Agent.Run] does and returns the answer as a T, whose schema
// the model is given: see [tool.SchemaFor]. If T has a method Validate() error
// it is asked too. An answer that does not fit is asked again, 3 times in all;
// then the error is a [*SchemaError].
func RunAs[T any](ctx context.Context, a *Agent, s *session.Session, in ...llm.Part) (T, *Result, error) {
	var out T
	opts := a.opts
	opts.Schema = &llm.Schema{Name: AnswerTool, JSON: tool.SchemaFor[T]()}
	check := opts.Check
	opts.Check = func(raw json.RawMessage) error {
		v, err := tool.Decode[T](raw)
		if err != nil {
			return err
		}
		if val, ok := any(&v).(interface{ Validate() error }); ok {
			if err := val.Validate(); err != nil {
				return err
			}
		}
		if check != nil {
			return check(raw)
		}
		return nil
	}
	typed, err := New(a.model, opts)
	if err != nil {
		return out, nil, err
	}
	res, err := typed.Run(ctx, s, in...)
	if err != nil {
		return out, res, err
	}
	if len(res.Value) == 0 {
		if res.Stop == StopSchema {
			return out, res, &SchemaError{maxAnswers, res.Text, res.Reason}
		}
		return out, res, fmt.Errorf("agent: the run stopped before its answer: %s: %s", res.Stop, res.Reason)
	}
	out, err = tool.Decode[T](res.Value)
	return out, res, err
}

// answerTool takes the structured answer.
type answerTool struct {
	schema *llm.Schema
	check  func(json.RawMessage) error
	failed int
	why    string
	value  json.RawMessage
}

func (a *answerTool) Spec() tool.Spec {
	return tool.Spec{
		Name: AnswerTool, Description: "Gives the final answer and ends the task.",
		Input: a.schema.JSON, ReadOnly: true, Access: tool.NoAccess,
	}
}

func (a *answerTool) Call(_ context.Context, c *tool.Call) (*tool.Result, error) {
	if err := a.check(c.Input); err != nil {
		a.failed++
		a.why = err.Error()
		return tool.Error("This answer does not fit: " + err.Error()), nil
	}
	a.value = c.Input
	return &tool.Result{Parts: llm.Texts(string(c.Input)), Control: tool.Complete}, nil
}

// checkAnswer holds a value against the schema and the host's own check, and
// keeps it as the result if it fits.
func (r *runner) checkAnswer(raw json.RawMessage) error {
	if err := tool.Validate(r.opts.Schema.JSON, raw); err != nil {
		return err
	}
	if r.opts.Check != nil {
		if err := r.opts.Check(raw); err != nil {
			return err
		}
	}
	r.res.Value = raw
	return nil
}

// structured takes an answer in text where a schema was asked for. It reports
// whether the model was asked again or the run stopped.
func (r *runner) structured(text string) (again bool, err error) {
	var why error
	if raw, ok := jsonIn(text); !ok {
		why = fmt.Errorf("it is not JSON")
	} else if why = r.checkAnswer(raw); why == nil {
		r.res.Text = string(raw)
		return false, nil
	}
	r.noTool++
	if r.answer != nil {
		r.answer.failed++
		r.answer.why = why.Error()
	}
	if r.noTool >= maxAnswers {
		r.stop(StopSchema, why.Error())
		return true, nil
	}
	ask := "Your answer does not fit the schema: " + why.Error() + "\nAnswer again with JSON only."
	if r.answer != nil {
		ask = "Give your final answer by calling " + AnswerTool + "."
	}
	return true, r.say(session.KindNotice, llm.Texts(ask))
}

// jsonIn finds the JSON value that text is, in a code fence or without.
func jsonIn(text string) (json.RawMessage, bool) {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "```"); ok {
		_, rest, _ = strings.Cut(rest, "\n")
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "```"))
	}
	return json.RawMessage(text), json.Valid([]byte(text))
}

package ollama

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// decoder builds a response of the lines of an answer.
type decoder struct {
	m       *Model
	s       *wire.Stream
	seed    string // of made-up ids
	out     []llm.Event
	started bool
	done    bool // the end mark was seen

	model    string
	text     strings.Builder
	thinking strings.Builder
	calls    []llm.ToolCall
	ids      wire.IDs
	reason   string
	usage    *llm.Usage
}

// newDecoder makes the decoder of an answer to req.
func newDecoder(m *Model, s *wire.Stream, req *llm.Request) *decoder {
	return &decoder{m: m, s: s, seed: fmt.Sprint(len(req.Messages), " ", llm.Estimate(req))}
}

type line struct {
	Model   string          `json:"model"`
	Created json.RawMessage `json:"created_at"`
	Message struct {
		Content  string     `json:"content"`
		Thinking string     `json:"thinking"`
		Calls    []callLine `json:"tool_calls"`
	} `json:"message"`
	Done   bool            `json:"done"`
	Reason string          `json:"done_reason"`
	Prompt *wire.Count     `json:"prompt_eval_count"`
	Eval   *wire.Count     `json:"eval_count"`
	Error  json.RawMessage `json:"error"`
}

type callLine struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// Event is [wire.Decoder].Event.
func (d *decoder) Event(ev wire.Event) ([]llm.Event, error) {
	d.out = d.out[:0]
	err := d.line(ev)
	return d.out, err
}

// State is [wire.Decoder].State.
func (d *decoder) State() wire.State {
	switch {
	case d.done:
		return wire.Done
	case d.started:
		return wire.Begun
	}
	return wire.Empty
}

func (d *decoder) line(ev wire.Event) error {
	var l line
	if err := json.Unmarshal(ev.Data, &l); err != nil {
		// A field of another type than it should be is skipped, the rest read.
		var typ *json.UnmarshalTypeError
		if !errors.As(err, &typ) || typ.Field == "" {
			return d.s.Undecodable(ev, err)
		}
	}
	switch string(l.Error) {
	case "", "null", `""`, "{}":
	default:
		return d.m.explain(d.s.Failure(ev.Data))
	}
	d.started = true
	if d.model == "" {
		d.model = l.Model
	}
	if s := l.Message.Thinking; s != "" {
		d.thinking.WriteString(s)
		d.out = append(d.out, llm.ThinkingDelta{Text: s})
	}
	if s := l.Message.Content; s != "" {
		d.text.WriteString(s)
		d.out = append(d.out, llm.TextDelta{Text: s})
	}
	for _, c := range l.Message.Calls {
		d.call(c, l.Created)
	}
	if !l.Done {
		return nil
	}
	d.reason = l.Reason
	d.counted(l)
	if d.usage != nil && d.m.wasCut(d.usage.Input) {
		return &llm.Error{
			Kind: llm.KindContextOverflow, Provider: d.m.info.Provider, Model: d.m.info.Name, Status: 200,
			Message: fmt.Sprintf("the server cut the prompt to %d tokens; %s", d.usage.Input, d.m.window()),
		}
	}
	d.done = true
	return nil
}

// call takes a tool call, which comes whole.
func (d *decoder) call(c callLine, created json.RawMessage) {
	args := string(c.Function.Arguments)
	var text string
	if json.Unmarshal(c.Function.Arguments, &text) == nil {
		args = text // an object that is written as a string
	}
	if c.Function.Name == "" && (args == "" || args == "{}" || args == "null") {
		return // stored, it would make every later request invalid
	}
	id := c.ID
	if id == "" {
		// Most versions give none. The same answer has the same ids each time
		// that it is read, and another answer has others.
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %s %s", d.seed, created, len(d.calls), c.Function.Name, args))
		id = "call_" + hex.EncodeToString(sum[:8])
	}
	call := llm.ToolCall{ID: d.ids.Of(id), Name: c.Function.Name}
	call.Input, call.Malformed = wire.Input(args)
	d.out = append(d.out, llm.CallDelta{Index: len(d.calls), ID: call.ID, Name: call.Name, Input: string(call.Input)})
	d.calls = append(d.calls, call)
}

// counted takes the counts of the last line. The prompt's is left out where all
// of it was cached; how much of it was cached otherwise is not said.
func (d *decoder) counted(l line) {
	if l.Prompt == nil && l.Eval == nil {
		return
	}
	d.usage = &llm.Usage{}
	if l.Prompt != nil {
		d.usage.Input = int64(*l.Prompt)
	}
	if l.Eval != nil {
		d.usage.Output = int64(*l.Eval)
	}
}

// Response is [wire.Decoder].Response. A call that is there is whole, so that
// whole makes no difference.
func (d *decoder) Response(bool) *llm.Response {
	r := &llm.Response{RequestID: d.s.RequestID(), Model: d.model, StopRaw: d.reason, Stop: d.stop()}
	r.Message = llm.Message{
		Role:   llm.RoleAssistant,
		Origin: &llm.Origin{Provider: d.m.info.Provider, Model: d.m.info.Name, Wire: Wire},
	}
	if d.thinking.Len() > 0 {
		r.Message.Parts = append(r.Message.Parts, llm.Thinking{Text: d.thinking.String()})
	}
	if d.text.Len() > 0 {
		r.Message.Parts = append(r.Message.Parts, llm.Text{Text: d.text.String()})
	}
	for _, c := range d.calls {
		r.Message.Parts = append(r.Message.Parts, c)
	}
	if d.usage != nil {
		normal, reported := *d.usage, *d.usage
		r.Usage, r.Reported = &normal, &reported
	}
	return r
}

func (d *decoder) stop() llm.StopReason {
	switch {
	case d.reason == "length":
		return llm.StopMaxTokens
	case len(d.calls) > 0:
		return llm.StopToolUse
	case d.reason == "stop" || d.reason == "":
		return llm.StopEnd
	}
	return llm.StopReason(d.reason)
}

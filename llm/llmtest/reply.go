package llmtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/cantle-dev/cantle/llm"
)

// Reply is one answer of a model, or one way in which a call fails. It is
// a value: each method returns a changed copy, so that
//
//	llmtest.Think("The user wants a file.").Say("Let me look.").Call("Read", args)
//
// is one response with three parts. The zero Reply is an empty response.
type Reply struct {
	parts  llm.Parts
	stop   llm.StopReason
	usage  *llm.Usage
	want   []Matcher
	fault  fault
	err    *llm.Error
	status int
	header http.Header
	body   string
	after  int // of a cut: how many events or bytes come first; -1 is all parts
	delay  time.Duration
	pause  time.Duration
	whole  bool
}

type fault int

const (
	faultNone      fault = iota
	faultFail            // the provider says that it failed
	faultStall           // nothing more comes
	faultCut             // the connection breaks after some events
	faultCutBytes        // the connection breaks after some bytes
	faultTruncate        // the body ends in good order, but too early
	faultMalformed       // the stream turns to rubbish
	faultStatus          // an HTTP error with the wire's envelope
	faultPlain           // an HTTP answer with a body of no wire
)

// Say replies with a text.
func Say(text string) Reply { return Reply{}.Say(text) }

// Think replies with readable thinking. A [Server] signs it.
func Think(text string) Reply { return Reply{}.Think(text) }

// Call replies with a tool call: see [Reply.Call].
func Call(name string, args any) Reply { return Reply{}.Call(name, args) }

// CallID is [Call] with an id of the caller's choice.
func CallID(id, name string, args any) Reply { return Reply{}.CallID(id, name, args) }

// Parts replies with ps as they are.
func Parts(ps ...llm.Part) Reply { return Reply{}.Parts(ps...) }

// Fail replies with an error. In a [Script] that is err itself, with what is
// missing filled in; a [Server] answers with err's Status, or with the one
// that fits its Kind.
func Fail(err *llm.Error) Reply { return Reply{}.Fail(err) }

// Stall answers nothing until the caller gives up.
func Stall() Reply { return Reply{}.Stall() }

// Cut breaks the connection before anything has come.
func Cut() Reply { return Reply{}.Cut() }

// Malformed replies with a stream that cannot be understood.
func Malformed() Reply { return Reply{}.Malformed() }

// Status replies with an HTTP error and the wire's own error envelope. The
// header is added to the answer and may be nil; "Retry-After" is the one of use.
func Status(code int, header http.Header) Reply {
	return Reply{fault: faultStatus, status: code, header: header.Clone()}
}

// RetryAfter is a header for [Status] that asks to wait for d, in whole
// seconds rounded up.
func RetryAfter(d time.Duration) http.Header {
	return http.Header{"Retry-After": {fmt.Sprint(int64((d + time.Second - 1) / time.Second))}}
}

// Plain replies with an HTTP status and a body of no wire, as a proxy or
// a login page does.
func Plain(code int, body string) Reply {
	return Reply{fault: faultPlain, status: code, body: body}
}

// Times is n copies of r, for a script.
func Times(n int, r Reply) []Reply { return slices.Repeat([]Reply{r}, n) }

func (r Reply) add(ps ...llm.Part) Reply {
	r.parts = append(slices.Clip(r.parts), ps...)
	return r
}

// Say adds a text.
func (r Reply) Say(text string) Reply { return r.add(llm.Text{Text: text}) }

// Think adds thinking.
func (r Reply) Think(text string) Reply { return r.add(llm.Thinking{Text: text}) }

// Call adds a tool call. Args is the input: a string or a [json.RawMessage] is
// taken as JSON text, as it is, valid or not; anything else is encoded; nil is
// {}. The call is named "call_1", "call_2" and so on by the script or the
// server that plays it. It panics if args cannot be encoded.
func (r Reply) Call(name string, args any) Reply { return r.CallID("", name, args) }

// CallID is [Reply.Call] with an id of the caller's choice.
func (r Reply) CallID(id, name string, args any) Reply {
	var in json.RawMessage
	switch a := args.(type) {
	case nil:
		in = json.RawMessage("{}")
	case string:
		in = json.RawMessage(a)
	case json.RawMessage:
		in = slices.Clone(a)
	default:
		b, err := json.Marshal(args)
		if err != nil {
			panic(fmt.Sprintf("llmtest: arguments of %s: %v", name, err))
		}
		in = b
	}
	return r.add(toolCall(id, name, in))
}

// toolCall makes a call as an adapter would: what is not a JSON object is kept
// apart.
func toolCall(id, name string, in json.RawMessage) llm.ToolCall {
	var obj map[string]json.RawMessage
	if json.Unmarshal(in, &obj) != nil || obj == nil {
		return llm.ToolCall{ID: id, Name: name, Input: json.RawMessage("{}"), Malformed: string(in)}
	}
	return llm.ToolCall{ID: id, Name: name, Input: in}
}

// Parts adds ps as they are.
func (r Reply) Parts(ps ...llm.Part) Reply { return r.add(ps...) }

// Stop sets the stop reason. Without it a reply with calls stops for tool use,
// and any other at its end.
func (r Reply) Stop(reason llm.StopReason) Reply { r.stop = reason; return r }

// Usage sets the tokens that are reported. Without it they are estimated; a
// [Server] also plays the provider's prompt cache.
func (r Reply) Usage(u llm.Usage) Reply { r.usage = &u; return r }

// Want adds checks of the request that this reply answers. If one fails, so
// does the test, and the call with it.
func (r Reply) Want(ms ...Matcher) Reply {
	r.want = append(slices.Clip(r.want), ms...)
	return r
}

// Fail ends the reply with an error, after the parts so far were streamed.
func (r Reply) Fail(err *llm.Error) Reply {
	if err == nil {
		err = &llm.Error{Kind: llm.KindServer}
	}
	r.fault, r.err = faultFail, err
	return r
}

// Stall streams the parts so far and then nothing more: the end never comes.
func (r Reply) Stall() Reply { r.fault = faultStall; return r }

// StallFor waits for d after the parts so far, and then ends in good order.
func (r Reply) StallFor(d time.Duration) Reply { r.pause = d; return r }

// Slow waits for d before each delta.
func (r Reply) Slow(d time.Duration) Reply { r.delay = d; return r }

// Cut breaks the connection after the parts so far.
func (r Reply) Cut() Reply { r.fault, r.after = faultCut, -1; return r }

// CutAfter breaks the connection after n events: those of the wire on
// a server, deltas in a script.
func (r Reply) CutAfter(n int) Reply { r.fault, r.after = faultCut, n; return r }

// CutBytes breaks the connection after n bytes of the body; in a script, after
// n bytes of deltas.
func (r Reply) CutBytes(n int) Reply { r.fault, r.after = faultCutBytes, n; return r }

// Truncate ends the stream in good order after the parts so far, but without
// the wire's end mark, as a proxy does that gives up.
func (r Reply) Truncate() Reply { r.fault = faultTruncate; return r }

// Malformed streams the parts so far and then an event that is not JSON.
func (r Reply) Malformed() Reply { r.fault = faultMalformed; return r }

// Whole makes a server answer with one JSON body although a stream was asked
// for, as some do.
func (r Reply) Whole() Reply { r.whole = true; return r }

// Header adds headers to a server's answer.
func (r Reply) Header(h http.Header) Reply {
	merged := http.Header{}
	maps.Copy(merged, r.header)
	maps.Copy(merged, h)
	r.header = merged
	return r
}

// Then is a Player that answers its first request with r and every later one
// with next.
func (r Reply) Then(next Player) Player {
	first := make(chan struct{}, 1)
	first <- struct{}{}
	return func(e *Exchange) Reply {
		select {
		case <-first:
			return r
		default:
			return next(e)
		}
	}
}

// Message is what the reply says when nothing fails. Calls have their ids once
// a script or a server has played it.
func (r Reply) Message() llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Parts: cloneParts(r.parts)}
}

// named returns r with an id for each call that has none.
func (r Reply) named(next func() string) Reply {
	ps := slices.Clone(r.parts)
	for i, p := range ps {
		if c, ok := p.(llm.ToolCall); ok && c.ID == "" {
			c.ID = next()
			ps[i] = c
		}
	}
	r.parts = ps
	return r
}

func (r Reply) stopReason() llm.StopReason {
	if r.stop != "" {
		return r.stop
	}
	if len(r.parts.Calls()) > 0 {
		return llm.StopToolUse
	}
	return llm.StopEnd
}

// outputTokens estimates what the parts cost.
func (r Reply) outputTokens() (out, reasoning int64) {
	out = int64(llm.Message{Parts: r.parts}.Estimate())
	for _, p := range r.parts {
		switch p := p.(type) {
		case llm.Thinking:
			reasoning += int64(llm.Message{Parts: llm.Parts{p}}.Estimate())
		case llm.ToolCall:
			if p.Malformed != "" {
				out += int64(len(p.Malformed) / 4)
			}
		}
	}
	return out, min(reasoning, out)
}

// pieces cuts s into deltas: words, or larger pieces where there would be very
// many.
func pieces(s string, most int) []string {
	size := max(1, len(s)/most)
	var out []string
	start := 0
	for i, c := range s {
		if i-start >= size && (c == ' ' || i-start >= size+32) {
			out = append(out, s[start:i])
			start = i
		}
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// argPieces cuts the arguments of a call into deltas, at the edges of runes.
func argPieces(s string) []string {
	size := max(8, len(s)/500)
	var out []string
	start := 0
	for i := range s {
		if i-start >= size {
			out = append(out, s[start:i])
			start = i
		}
	}
	return append(out, s[start:])
}

// input is the arguments of c as they go over a wire.
func input(c llm.ToolCall) string {
	if c.Malformed != "" {
		return c.Malformed
	}
	return string(c.Input)
}

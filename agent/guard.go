package agent

import (
	"crypto/sha256"
	"encoding/json"
	"io"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/tool"
)

// guard notices calls that are made again and again. A call that was made
// twice with the same input and the same result, with no successful changing
// call of another kind between, is refused the third time; if the model makes
// it once more, the run stops. Tools that are made for polling are exempt.
type guard struct {
	seen map[callKey]repeat
}

// callKey is a hash of a call's name and input. A long run has many.
type callKey [16]byte

func keyOf(name string, input json.RawMessage) callKey {
	h := sha256.New()
	h.Write([]byte(name))
	h.Write([]byte{0})
	h.Write(tool.Canonical(input))
	return short(h.Sum(nil))
}

func short(sum []byte) callKey { return callKey(sum[:len(callKey{})]) }

type repeat struct {
	result  callKey // a hash of it
	count   uint8   // at most maxRepeats
	refused uint8
}

const maxRepeats = 2

const repeatText = "Not run: you made this very call twice and got the same result each time, and nothing has changed since. Do something else: change the input, change what it depends on, or say what you are missing."

func (g *guard) check(o *one) (string, bool) {
	if o.spec.Polls {
		return "", false
	}
	if g.seen[o.key].count >= maxRepeats {
		return repeatText, true
	}
	return "", false
}

// saw takes note of an answered call and reports whether the run is stuck.
func (g *guard) saw(o *one) bool {
	if !o.allowed || o.spec.Polls {
		return false
	}
	s := g.seen[o.key]
	switch o.outcome {
	case OutcomeRefused:
		if s.count < maxRepeats {
			return false
		}
		s.refused++
		g.seen[o.key] = s
		return s.refused > 1
	case OutcomeRan:
	default:
		return false
	}
	if sum := digest(o.res); s.result != sum {
		s = repeat{result: sum}
	}
	s.count = min(s.count+1, maxRepeats)
	if g.seen == nil {
		g.seen = map[callKey]repeat{}
	}
	if !o.spec.ReadOnly && !o.res.IsError {
		clear(g.seen)
	}
	g.seen[o.key] = s
	return false
}

func digest(res *tool.Result) callKey {
	h := sha256.New()
	if t, ok := sole(res.Parts); ok {
		_, _ = io.WriteString(h, t.Text)
	} else if err := json.NewEncoder(h).Encode(res.Parts); err != nil {
		return callKey{}
	}
	return short(h.Sum(nil))
}

// sole is the text that is all of ps.
func sole(ps llm.Parts) (llm.Text, bool) {
	if len(ps) != 1 {
		return llm.Text{}, false
	}
	t, ok := ps[0].(llm.Text)
	return t, ok && len(t.Raw) == 0
}

package wire

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"net/http"
	"strings"
	"sync"

	"github.com/cantle-dev/cantle/llm"
)

// Optional is a field that may be left out of a request, or sent otherwise,
// where a server refuses it.
type Optional struct {
	Name string   // as errors call it
	In   string   // the field of the body that it is in; "" is Name
	Said []string // other words for it
}

// Lessons are the optional fields that an endpoint has refused for a model.
// All models of the process that are at one endpoint share them. They are safe
// for concurrent use.
type Lessons struct {
	fields []Optional
	*lessons
}

type lessons struct {
	mu      sync.Mutex
	refused map[string]bool
}

// maxLessons is how many endpoints are remembered before all are forgotten:
// each costs a refused request to learn again. Who has Lessons keeps them.
const maxLessons = 1024

// school is what this process was taught. The addresses and keys that it was
// taught by are not kept.
type school struct {
	seed maphash.Seed
	mu   sync.Mutex
	of   map[uint64]*lessons
}

var sharedSchool = sync.OnceValue(func() *school {
	return &school{seed: maphash.MakeSeed(), of: map[uint64]*lessons{}}
})

// LessonsOf are those of the endpoint at that address for a model and the
// account of that key, of which some may do what others may not. Of the
// fields, the first that an error names is meant.
func LessonsOf(address, model, key string, fields ...Optional) Lessons {
	s := sharedSchool()
	k := maphash.Comparable(s.seed, [3]string{address, model, key})
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.of[k]
	if l == nil {
		if len(s.of) >= maxLessons {
			clear(s.of)
		}
		l = &lessons{refused: map[string]bool{}}
		s.of[k] = l
	}
	return Lessons{fields, l}
}

// Refused reports whether the endpoint has refused that field.
func (l *lessons) Refused(field string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused[field]
}

// Post is the function Post for what encode makes. Where the server refuses an
// optional field by its name, that is remembered, and what encode then makes is
// posted, until it is taken or is no other than before.
func (l Lessons) Post(ctx context.Context, address string, encode func() (*Body, error), opts Options) (*Stream, error) {
	body, err := encode()
	for range len(l.fields) + 1 {
		if err != nil {
			break
		}
		s, failed := Post(ctx, address, body.Join(), opts)
		if failed == nil {
			return s, nil
		}
		field, isNew := l.learn(failed, body)
		if field == "" {
			return nil, failed
		}
		var again *Body
		if again, err = encode(); err == nil && bytes.Equal(again.Bytes(), body.Bytes()) {
			// It came from Request.Extra, or has no other form.
			if isNew {
				l.set(field, false)
			}
			return nil, failed
		}
		body = again
	}
	if err == nil {
		err = errors.New("the server refuses one field after another")
	}
	return nil, Invalid(llm.Info{Provider: opts.Provider, Name: opts.Model}, err)
}

// set remembers that a field is refused, or forgets it, and reports whether
// that is new. Another request may have learned it while this one was away.
func (l *lessons) set(field string, refused bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.refused[field]
	l.refused[field] = refused
	return was != refused
}

// learn returns the optional field of body that err says is refused.
func (l Lessons) learn(err error, body *Body) (field string, isNew bool) {
	var e *llm.Error
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return "", false
	}
	if e.Kind != llm.KindInvalidRequest && e.Kind != llm.KindPermission {
		return "", false
	}
	said := strings.ToLower(e.Message)
	if !refusal(said) && e.Code != "unsupported_value" && e.Code != "unsupported_parameter" && e.Code != "unknown_parameter" {
		return "", false
	}
	// "'max_tokens' is not supported, use 'max_completion_tokens'": the field
	// that is refused comes first.
	var named Optional
	at := len(said)
	for _, f := range l.fields {
		if rest, ok := strings.CutPrefix(e.Param, f.Name); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			named = f
			break
		}
		i := mentioned(said, strings.ToLower(f.Name))
		for _, words := range f.Said {
			if j := strings.Index(said, words); j >= 0 && (i < 0 || j < i) {
				i = j
			}
		}
		if i >= 0 && i < at {
			named, at = f, i
		}
	}
	in := named.In
	if in == "" {
		in = named.Name
	}
	if in == "" || !body.Has(in) {
		return "", false
	}
	return named.Name, l.set(named.Name, true)
}

// mentioned is where a text names a field; -1 where it does not. A name that is
// a word of the language counts only where it is marked as a name.
func mentioned(said, name string) int {
	if strings.ContainsAny(name, "_.") {
		return strings.Index(said, name)
	}
	if strings.HasPrefix(said, name+":") {
		return 0
	}
	first := -1
	for _, form := range []string{"'" + name + "'", `"` + name + `"`, "`" + name + "`", "body." + name, "'" + name + "[", "'" + name + ".", "parameter: " + name} {
		if i := strings.Index(said, form); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	return first
}

func refusal(said string) bool {
	for _, w := range []string{
		"unsupported", "not support", "n't support", "unrecognized", "unknown", "unexpected", "not permitted", "not allowed", "not enabled",
		"extra inputs", "extra fields", "deprecated", "invalid parameter", "only works in",
	} {
		if strings.Contains(said, w) {
			return true
		}
	}
	return false
}

// ClaudeFields are the optional fields of thinking of Claude, which are in
// those two of the body: what the methods of [Lessons] tell of them.
func ClaudeFields(thinking, effort string) []Optional {
	return []Optional{
		{Name: "thinking.type.enabled", In: thinking},
		{Name: "thinking.type.disabled", In: thinking},
		{Name: "thinking.type.adaptive", In: thinking, Said: []string{"adaptive thinking"}},
		{Name: "thinking", In: thinking, Said: []string{"thinking is not supported", "does not support thinking", "does not support extended thinking"}},
		{Name: "output_config.effort", In: effort, Said: []string{"the effort parameter", "'effort'", "`effort`", `"effort"`}},
	}
}

// AdaptiveThinking reports how a Claude model is told to think that by itself
// would be told so: whether by an effort, and not by a budget. ok is false where
// the endpoint takes neither.
func (l *lessons) AdaptiveThinking(adaptive bool) (is, ok bool) {
	budget, effort := l.Refused("thinking.type.enabled"), l.Refused("thinking.type.adaptive")
	if budget && effort || l.Refused("thinking") {
		return false, false
	}
	return budget || adaptive && !effort, true
}

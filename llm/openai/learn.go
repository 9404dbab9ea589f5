package openai

import (
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// optional is a field that may be left out of a request, or sent otherwise,
// where a server refuses it.
type optional struct {
	name string // as errors call it
	in   string // the field of the body that it is in; "" is name
	said string // other words for it, in lower case; "" is none
}

// learned are the optional fields that a server has refused. The zero learned
// is ready, and safe for concurrent use.
type learned struct {
	mu     sync.Mutex
	fields map[string]bool
}

func (l *learned) refused(field string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fields[field]
}

// learn reports whether err says that one of the fields, and of body, is
// refused, and remembers it. Another request may have learned it while this one
// was away.
func (l *learned) learn(err error, body *wire.Body, fields []optional) bool {
	var e *llm.Error
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	if e.Kind != llm.KindInvalidRequest && e.Kind != llm.KindPermission {
		return false
	}
	said := strings.ToLower(e.Message)
	if !refusal(said) && e.Code != "unsupported_value" && e.Code != "unsupported_parameter" && e.Code != "unknown_parameter" {
		return false
	}
	// "'max_tokens' is not supported, use 'max_completion_tokens'": the field
	// that is refused comes first.
	var field optional
	at := len(said)
	for _, f := range fields {
		if rest, ok := strings.CutPrefix(e.Param, f.name); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			field = f
			break
		}
		i := mentioned(said, f.name)
		if i < 0 && f.said != "" {
			i = strings.Index(said, f.said)
		}
		if i >= 0 && i < at {
			field, at = f, i
		}
	}
	in := field.in
	if in == "" {
		in = field.name
	}
	if in == "" || !body.Has(in) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fields == nil {
		l.fields = map[string]bool{}
	}
	l.fields[field.name] = true
	return true
}

// mentioned is where a text names a field; -1 where it does not. A name that is
// a word of the language counts only where it is marked as a name.
func mentioned(said, name string) int {
	if strings.ContainsAny(name, "_.") {
		return strings.Index(said, name)
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
	for _, w := range []string{"unsupported", "not support", "unrecognized", "unknown", "unexpected", "not permitted", "not allowed", "extra inputs", "extra fields", "deprecated", "invalid parameter"} {
		if strings.Contains(said, w) {
			return true
		}
	}
	return false
}

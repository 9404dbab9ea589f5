// Package guard keeps keys out of what a model is told and of what is kept: the
// values of the keys that the program holds are taken out of the results of
// tools, of errors and of questions, whatever command printed them.
//
//	r := guard.New(guard.Options{Keys: func() []guard.Key {
//		return []guard.Key{{Name: "openai", Value: key}}
//	}})
//	a, err := agent.New(model, agent.Options{Tools: tools, Middleware: []agent.Middleware{r.Middleware()}})
//
// In the place of a value stands "[key of openai]". A value is found anywhere in
// a line, also in base64 with any bytes before it, in hexadecimal digits, escaped
// as in JSON or a URL, and with line breaks in it; of one that is cut off, the
// half that is left is found too. Nothing else is changed: there are no guesses,
// but for those that [Options.Shapes] asks for.
//
// It keeps keys from getting out by accident. A command that wants to can
// disguise one in ways that nothing finds: what it can read, the permissions and
// the sandbox decide.
//
// [Known] collects keys that are got one after the other, and a [Redactor] has
// what else is needed to keep them out of files, of exports and of output.
package guard

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cantle-dev/cantle/internal/x/secretshape"
	"github.com/cantle-dev/cantle/llm"
)

// MinLength is the least length in bytes of a value that is looked for. Shorter
// ones are place-holders, such as the "ollama" that a server without keys is
// given, or so common that they would be found in ordinary words.
const MinLength = 8

// Key is a value that nobody may see, and the name that stands in its place.
type Key struct{ Name, Value string }

// Options say what is taken out. The zero value takes out nothing.
type Options struct {
	// Keys are the keys that the program holds now. It is asked each time, since
	// some are got late, and from many goroutines; it must not block.
	Keys func() []Key
	// Shapes takes out too what looks like a key of a well-known service, be it
	// whose it may. It is for what leaves the machine, and not for what a model
	// works with: one that edits a test must see the key in it as it is.
	Shapes bool
}

// Redactor takes keys out of what is told. It is safe for concurrent use.
type Redactor struct {
	opts  Options
	found atomic.Pointer[known]
}

// known is what finds some keys.
type known struct {
	keys    []Key
	finders []*finder
	// simple says that what is escaped in JSON is found without reading it.
	simple bool
}

// New makes a Redactor.
func New(o Options) *Redactor { return &Redactor{opts: o} }

// Text is s without keys and without what looks like one, for what leaves the
// machine where no key is known.
func Text(s string) string { return New(Options{Shapes: true}).Text(s) }

// known is what finds the keys of now.
func (r *Redactor) known() *known {
	if r.opts.Keys == nil {
		return &known{}
	}
	keys := r.opts.Keys()
	k := r.found.Load()
	if k == nil || !slices.Equal(k.keys, keys) { // equal strings are mostly the same ones
		k = &known{keys: slices.Clone(keys), finders: newFinders(keys)}
		k.simple = !slices.ContainsFunc(keys, func(k Key) bool {
			return strings.ContainsFunc(k.Value, func(r rune) bool { return r > 0x7e || r == '%' || r == '\\' })
		})
		r.found.Store(k)
	}
	return k
}

// Text is s without keys.
func (r *Redactor) Text(s string) string {
	return r.now().text(s)
}

// A pass is a Redactor with the keys of one moment.
type pass struct {
	*known
	shapes bool
}

func (r *Redactor) now() pass { return pass{r.known(), r.opts.Shapes} }

// idle reports whether nothing would be changed.
func (p pass) idle() bool { return len(p.finders) == 0 && !p.shapes }

func (p pass) text(s string) string {
	for _, f := range p.finders {
		if spans, _ := f.scan(s, true); len(spans) > 0 {
			s = replace(s, spans)
		}
	}
	if p.shapes {
		s = secretshape.Replace(s, func(kind string) string { return "[" + kind + "]" })
	}
	return s
}

// replace puts a name in the place of each span.
func replace(s string, spans []span) string {
	var b strings.Builder
	at := 0
	for _, sp := range spans {
		b.WriteString(s[at:sp.start])
		if sp.part {
			b.WriteString("[part of the key of " + sp.name + "]")
		} else {
			b.WriteString("[key of " + sp.name + "]")
		}
		at = sp.end
	}
	b.WriteString(s[at:])
	return b.String()
}

// clean is a name that can stand in any text.
func clean(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune("[]\"'`\\<>&", r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	if len(name) > 60 {
		name = strings.ToValidUTF8(name[:60], "") + "…"
	}
	if name == "" {
		return "a provider"
	}
	return name
}

// Parts is ps without keys. What has none is not copied.
func (r *Redactor) Parts(ps llm.Parts) llm.Parts { return r.now().parts(ps) }

package wirecase

import (
	"net/http"
	"testing"
)

// Drain is drain.
var Drain = drain

// Status, Header and Body are those of the recorded answer.
func (x *Exchange) Status() int         { return x.response.Status }
func (x *Exchange) Header() http.Header { return http.Header(x.response.Headers).Clone() }
func (x *Exchange) Body() []byte        { return x.body }

// Blobs are the sums of what must go back unchanged.
func (x *Exchange) Blobs() [][2]string {
	var out [][2]string
	for _, o := range x.Expect.Opaque {
		out = append(out, [2]string{o.Sum, o.Or})
	}
	return out
}

// Sums are the sums of the strings of a JSON tree.
func Sums(v any) map[string]bool {
	out := map[string]bool{}
	sums(v, out)
	return out
}

// All loads the recorded cases, or skips the test.
func All(t *testing.T) []Case {
	t.Helper()
	dirs, err := List("../../../../shared/wire")
	if err != nil {
		t.Skip("the recorded exchanges are kept beside the repository, in shared/wire, and are not here")
	}
	var out []Case
	for _, d := range dirs {
		c, err := Load(d)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// At makes the exchange of a model.
func At(wire, api, provider, name string) *Exchange {
	x := &Exchange{Wire: wire, API: api, Provider: provider}
	x.request.Path = "/models/" + name
	return x
}

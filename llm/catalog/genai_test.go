package catalog_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/catalog"
)

// genaiNames are the providers that both sources have, and their names there.
var genaiNames = map[string]string{
	"anthropic": "anthropic", "openai": "openai", "google": "google", "deepseek": "deepseek", "xai": "x-ai", "groq": "groq",
	"mistral": "mistral", "cerebras": "cerebras", "moonshot": "moonshotai", "cohere": "cohere", "fireworks": "fireworks",
	"together": "together", "minimax": "minimax", "zai": "zai", "baseten": "baseten",
}

// TestGenaiPrices compares our prices with those of another source, the npm
// package @pydantic/genai-prices, of which CANTLE_GENAI_PRICES names the
// tarball. Both sources follow the providers with a delay of their own, so
// that a few differences are no fault; many are.
func TestGenaiPrices(t *testing.T) {
	t.Parallel()
	path := os.Getenv("CANTLE_GENAI_PRICES")
	if path == "" {
		t.Skip("CANTLE_GENAI_PRICES names no tarball: npm pack @pydantic/genai-prices makes one")
	}
	providers := genai(t, path)
	compared, differ := 0, 0
	for _, p := range catalog.Providers() {
		theirs, ok := providers[genaiNames[p.Name]]
		if !ok {
			continue
		}
		ours, err := catalog.Models(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ours {
			i := slices.IndexFunc(theirs, func(g genaiModel) bool { return g.Match.is(m.ID) })
			if i < 0 || m.Price == nil {
				continue
			}
			compared++
			d := theirs[i].differences(t, *m.Price)
			if len(d) > 0 {
				differ++
			}
			if (len(d) > 0) != (m.Disputed != "") {
				t.Errorf("%s:%s: %q is disputed, and there differ %q", p.Name, m.ID, m.Disputed, d)
			}
		}
	}
	t.Logf("%d models compared, %d differ", compared, differ)
	if compared < 80 || differ > compared/5 {
		t.Errorf("%d models compared, %d differ", compared, differ)
	}
}

type genaiModel struct {
	ID     string
	Match  genaiMatch
	Prices json.RawMessage
}

type genaiMatch struct {
	Equals string
	Or     []genaiMatch
}

// is reports whether the model is named by its whole id: parts do not count.
func (m genaiMatch) is(id string) bool {
	return m.Equals == id && id != "" || slices.ContainsFunc(m.Or, func(o genaiMatch) bool { return o.is(id) })
}

// differences are the rates, in dollars a million tokens, that are not ours.
func (g genaiModel) differences(t *testing.T, p llm.Price) []string {
	t.Helper()
	raw := g.Prices
	var dated []struct {
		Constraint *struct {
			Type      string
			StartDate string `json:"start_date"`
		}
		Prices json.RawMessage
	}
	if json.Unmarshal(raw, &dated) == nil {
		for _, d := range dated {
			if d.Constraint == nil || d.Constraint.Type == "start_date" && d.Constraint.StartDate <= "2026-11-20" {
				raw = d.Prices
			}
		}
	}
	var rates map[string]json.RawMessage
	if err := json.Unmarshal(raw, &rates); err != nil {
		return nil // by the time of day
	}
	var out []string
	for key, ours := range map[string]llm.Money{
		"input_mtok": p.Input, "output_mtok": p.Output, "cache_read_mtok": p.CacheRead, "cache_write_mtok": p.CacheWrite, "cache_write_1h_mtok": p.CacheWrite1h,
	} {
		var base float64
		var tiers struct{ Base float64 }
		v, ok := rates[key]
		if !ok {
			continue
		}
		if json.Unmarshal(v, &base) != nil {
			if err := json.Unmarshal(v, &tiers); err != nil {
				t.Fatalf("%s: %s: %s", g.ID, key, v)
			}
			base = tiers.Base
		}
		if mine := float64(ours) / 1e6; math.Abs(mine-base) > 1e-9 {
			out = append(out, fmt.Sprintf("%s is %g here and %g there", strings.TrimSuffix(key, "_mtok"), mine, base))
		}
	}
	slices.Sort(out)
	return out
}

// genai reads the data out of the package's script.
func genai(t *testing.T, path string) map[string][]genaiModel {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err != nil {
			t.Fatalf("%s: no dist/index.cjs: %v", path, err)
		}
		if h.Name != "package/dist/index.cjs" {
			continue
		}
		script, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(script, []byte(`=[{id:"`))
		if at < 0 {
			t.Fatal("dist/index.cjs has no list of providers")
		}
		var list []struct {
			ID     string
			Models []genaiModel
		}
		// The decoder stops where the list ends.
		if err := json.NewDecoder(strings.NewReader(literal(string(script[at+1:])))).Decode(&list); err != nil {
			t.Fatal(err)
		}
		out := map[string][]genaiModel{}
		for _, p := range list {
			out[p.ID] = p.Models
		}
		return out
	}
}

// literal makes JSON of the literals of a minified script: names get quotes,
// !0 and !1 are true and false, and .5 is 0.5.
func literal(s string) string {
	var b strings.Builder
	word := func(c byte) bool {
		return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\'' || c == '`':
			var text strings.Builder
			for i++; i < len(s) && s[i] != c; i++ {
				if s[i] == '\\' && i+1 < len(s) {
					i++
					if n := strings.IndexByte("nrtb", s[i]); n >= 0 {
						text.WriteByte("\n\r\t\b"[n])
						continue
					}
				}
				text.WriteByte(s[i])
			}
			quoted, _ := json.Marshal(text.String())
			b.Write(quoted)
		case c == '!' && i+1 < len(s) && (s[i+1] == '0' || s[i+1] == '1'):
			b.WriteString(map[byte]string{'0': "true", '1': "false"}[s[i+1]])
			i++
		case c == '.' && (i == 0 || !word(s[i-1])):
			b.WriteString("0.")
		case word(c):
			end := i
			for end < len(s) && (word(s[end]) || s[end] == '.') {
				end++
			}
			w := s[i:end]
			if end < len(s) && s[end] == ':' && (c < '0' || c > '9') {
				w = `"` + w + `"`
			}
			b.WriteString(w)
			i = end - 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

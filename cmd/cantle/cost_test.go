package main_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/llmtest"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/session/jsonl"
)

// TestCostOfASession: by purpose and model, with what the cache saved, in all
// branches; what any response cost that nobody knows is not known.
func TestCostOfASession(t *testing.T) {
	w := newWorld(t)
	w.serve(llmtest.WireAnthropic, func(*llmtest.Exchange) llmtest.Reply {
		return llmtest.Say("fine").Usage(llm.Usage{Input: 100, Output: 10, CacheRead: 1000, CacheWrite: 200})
	})
	settings := `{"models": {"test:m": {"price": {"input": 1, "output": 5, "cacheRead": 0.1, "cacheWrite": 1.25}}},
		"providers": {"test": {"baseUrl": "http://127.0.0.1:1", "wire": "anthropic"}}}`
	if err := os.MkdirAll(filepath.Join(w.home, ".cantle"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.home, ".cantle", "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	doc, errs, code := w.run("--json", "go")
	d := decode(t, doc)
	const one = (100*1 + 10*5 + 1000*0.1 + 200*1.25) / 1e6
	if c, _ := d["cost"].(float64); code != 0 || math.Abs(c-one) > 1e-12 {
		t.Fatalf("exit %d, %s%s", code, doc, errs)
	}
	id := d["session_id"].(string)
	if _, errs, code := w.run("--json", "-r", id, "--retry"); code != 0 {
		t.Fatal(errs)
	}
	show := func() (doc struct {
		Lines []struct {
			For, Path, Model string
			Requests         int
			Cost, Saved      *float64
		}
		Total struct {
			Requests    int
			Cost, Saved *float64
			Usage       llm.Usage
		}
	}, text string,
	) {
		t.Helper()
		out, errs, code := w.exec("sessions", "show", id, "--cost", "--json")
		if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 0 {
			t.Fatalf("exit %d, %s%s", code, out, errs)
		}
		text, errs, code = w.exec("sessions", "show", id, "--cost")
		if code != 0 {
			t.Fatalf("exit %d, %s", code, errs)
		}
		return doc, text
	}
	got, text := show()
	// Read, a token costs 0.9 less than fresh; written, 0.25 more.
	saved := 2 * (1000*0.9 - 200*0.25) / 1e6
	if len(got.Lines) != 1 || got.Lines[0].For != "main" || got.Lines[0].Model != "test:m" || got.Total.Requests != 2 ||
		math.Abs(*got.Total.Cost-2*one) > 1e-12 || math.Abs(*got.Total.Saved-saved) > 1e-12 || got.Total.Usage.CacheRead != 2000 {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(text, "$0.0010") || !strings.Contains(text, "2000") || !strings.Contains(text, "total") {
		t.Error(text)
	}

	// Side calls and children.
	st, err := jsonl.Open(filepath.Join(w.home, ".cantle", "sessions"), jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(t.Context(), st, id, session.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cost := llm.Dollars(0.5)
	for i, sp := range []session.SideSpent{
		{Purpose: "child", Path: "explore-1", Model: "other:x\x1b[31m", Requests: 3, Usage: &llm.Usage{Input: 7}, Cost: &cost},
		{Purpose: "title", Model: "test:m"},
	} {
		n, err := sp.Note()
		if err == nil {
			err = s.Append(t.Context(), session.Entry{ID: string(rune('A' + i)), Time: time.Now(), Data: n})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got, text = show()
	if len(got.Lines) != 3 || got.Lines[1].For != "title" || got.Lines[1].Cost != nil || got.Lines[2].Path != "explore-1" || got.Lines[2].Requests != 3 ||
		*got.Lines[2].Cost != 0.5 || got.Lines[2].Saved != nil || got.Total.Cost != nil || got.Total.Saved != nil || got.Total.Requests != 6 {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(text, "child explore-1") || !strings.Contains(text, "n/a") || !strings.Contains(text, "1 (1 not reported)") || strings.Contains(text, "\x1b") {
		t.Error(text)
	}
}

package main_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Where the stand-in takes over from a model, the stream and its last line say
// so; with an alias it is itself.
func TestStandInTakesOver(t *testing.T) {
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"busy"}}`, http.StatusServiceUnavailable)
	}))
	defer down.Close()
	w := newWorld(t)
	w.use("openai-chat", down.URL)
	w.write("README.md", "# a\n\nThis package measures the tides.\n")
	spare := []string{"--set", `fallback=["spare"]`, "--set", "aliases.spare=demo:offline", "--set", "retry.max=0"}
	out, errs, code := w.run(append(spare, "-o", "stream-json", "hi")...)
	if code != 0 || strings.Count(out, `"kind":"stand_in"`) != 1 || !strings.Contains(out, "demo:offline is a stand-in, not a language model") {
		t.Errorf("exit %d, %s, %s", code, out, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if d := decode(t, lines[len(lines)-1]); d["stand_in"] != true {
		t.Errorf("%v", d)
	}
	if _, errs, code = w.run(append(spare, "-v", "hi")...); code != 0 || !strings.Contains(errs, "demo:offline is a stand-in") {
		t.Errorf("exit %d, %s", code, errs)
	}
	w.model = []string{"--set", "aliases.try=demo:offline", "-m", "try"}
	if doc, errs, code := w.run("--json", "hi"); code != 0 || decode(t, doc)["stand_in"] != true {
		t.Errorf("exit %d, %s, %s", code, doc, errs)
	}
}

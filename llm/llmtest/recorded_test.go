package llmtest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm/llmtest"
)

// sharedWire is the folder of recorded traffic beside the repository.
func sharedWire(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("there is no go.mod above this package")
		}
		dir = filepath.Dir(dir)
	}
	dir = filepath.Join(dir, "..", "shared", "wire")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the recorded traffic is not beside this repository")
	}
	return dir
}

// own are refusals of what another server signed.
var own = []string{"signature", "could not be verified", "missing a thought_signature"}

// stricter are requests that one provider took and another of the same wire
// refuses: the server refuses them for all.
var stricter = map[string]string{
	"045": "a blank text beside calls",
	"141": "calls that are not answered",
	"151": "an image_url that is a string",
	"162": "an empty text",
	"225": "parallel_tool_calls without tools",
	"309": "thinking among the content of Chat Completions",
	"362": "an empty text",
	"398": "fields with underlines",
	"436": "two messages of the user in a row",
	"467": "the tool choice any",
	"478": "tools with no type",
}

// TestRecordedRequestsAreTaken: what a provider took, the server takes.
func TestRecordedRequestsAreTaken(t *testing.T) {
	dir := sharedWire(t)
	var files []string
	for _, glob := range []string{"*/request.json", "*/*/request.json"} {
		fs, err := filepath.Glob(filepath.Join(dir, glob))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, fs...)
	}
	s := llmtest.NewServer(t, func(*llmtest.Exchange) llmtest.Reply { return llmtest.Say("ok") })
	s.Tolerate()
	c := client(t)
	taken := map[string]int{}
	for _, f := range files {
		var req struct {
			Path   string
			Body   json.RawMessage
			Elided bool `json:"body_elided"`
			Made   bool `json:"synthesized"`
		}
		var resp struct{ Status int }
		load(t, f, &req)
		load(t, filepath.Join(filepath.Dir(f), "response.json"), &resp)
		if req.Elided || req.Made || resp.Status != http.StatusOK || len(req.Body) == 0 {
			continue
		}
		name, err := filepath.Rel(dir, f)
		if err != nil {
			t.Fatal(err)
		}
		path := strings.NewReplacer("<", "", ">", "").Replace(req.Path)
		if !strings.HasPrefix(path, "/") {
			continue
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, bytes.NewReader(req.Body))
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Anthropic-Version", "2023-06-01")
		res, err := c.Do(r)
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		switch {
		case res.StatusCode == http.StatusOK:
			rs := s.Requests()
			taken[rs[len(rs)-1].Wire]++
		case res.StatusCode == http.StatusNotFound:
		case containsAny(string(body), own):
		case stricter[name[:3]] != "":
		default:
			t.Errorf("%s: %s", name, body)
		}
	}
	for _, w := range llmtest.Wires() {
		if taken[w] == 0 && w != llmtest.WireOllama { // whose recorded requests are stubs
			t.Errorf("no request on %s was taken", w)
		}
	}
	t.Logf("taken: %v", taken)
}

func load(t *testing.T, file string, v any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func containsAny(s string, subs []string) bool {
	for _, sub := range subs {
		if strings.Contains(s, sub) {
			return true
		}
	}
	return false
}

package llmtest_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/llmtest"
)

const secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz"

func claude(rt http.RoundTripper, url string) llm.Model {
	return anthropic.New("claude-test", anthropic.Options{BaseURL: url, APIKey: secret, Client: &http.Client{Transport: rt}})
}

type outcome struct {
	Events []llm.Event
	Err    error
}

func watch(t *testing.T, m llm.Model, req *llm.Request) (o outcome) {
	for ev, err := range m.Stream(t.Context(), req) {
		if err != nil {
			o.Err = err
			continue
		}
		o.Events = append(o.Events, ev)
	}
	return o
}

func TestRecordAndReplay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tapes", "a.json")
	s := llmtest.NewServer(t, llmtest.Play(t,
		llmtest.Think("Hm.").Say("I have 漢字 and your key "+secret+".").Call("Look", map[string]string{"thing": "x"}),
		llmtest.Status(429, llmtest.RetryAfter(3e9)),
		llmtest.Say("some text").Cut(),
	))
	tr := llmtest.Loopback()
	defer tr.CloseIdleConnections()
	rec := llmtest.Record(tr, path)
	reqs := []*llm.Request{ask("first, my key is " + secret), ask("second"), ask("third")}
	var live []outcome
	for _, r := range reqs {
		live = append(live, watch(t, claude(rec, s.URL), r))
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	s.Close()

	tape, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(tape), "abcdefghij") || strings.Contains(string(tape), "127.0.0.1") {
		t.Errorf("the tape holds a key or a host:\n%s", tape)
	}
	p, err := llmtest.Replay(path, llmtest.ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m := claude(p, s.URL) // where nobody listens any more
	for i, r := range reqs {
		got := watch(t, m, r)
		if i == 0 {
			// The answer quoted the key: the tape does not.
			a, b := text(live[0].Events), text(got.Events)
			if b != strings.Replace(a, secret, strings.Repeat("x", len(secret)), 1) {
				t.Errorf("replayed %q", b)
			}
			continue
		}
		var a, b *llm.Error
		if !reflect.DeepEqual(got.Events, live[i].Events) || !errors.As(got.Err, &a) || !errors.As(live[i].Err, &b) || a.Kind != b.Kind || a.RetryAfter != b.RetryAfter || a.Message != b.Message || !reflect.DeepEqual(a.Partial, b.Partial) {
			t.Errorf("%d: replayed %+v, live %+v", i, got, live[i])
		}
	}
	if p.Left() != 0 {
		t.Errorf("%d left", p.Left())
	}
	if o := watch(t, m, ask("fourth")); o.Err == nil || !strings.Contains(o.Err.Error(), "all 3 exchanges are used") {
		t.Error(o.Err)
	}
}

func text(evs []llm.Event) string {
	var s string
	for _, ev := range evs {
		if d, ok := ev.(llm.TextDelta); ok {
			s += d.Text
		}
	}
	return s
}

func TestReplaySameEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	s := llmtest.NewServer(t, llmtest.Play(t, llmtest.Think("Hm.").Say("漢字 and more words").Call("Look", map[string]string{"thing": "x"})))
	tr := llmtest.Loopback()
	defer tr.CloseIdleConnections()
	rec := llmtest.Record(tr, path)
	live := watch(t, claude(rec, s.URL), ask("q"))
	if live.Err != nil {
		t.Fatal(live.Err)
	}
	p, err := llmtest.Replay(path, llmtest.ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := watch(t, claude(p, "http://unreachable.invalid"), ask("q"))
	a, _ := json.Marshal(live.Events)
	b, _ := json.Marshal(got.Events)
	if got.Err != nil || string(a) != string(b) {
		t.Errorf("%v\n%s\n%s", got.Err, a, b)
	}
}

func TestReplayNamesTheDifference(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	s := llmtest.NewServer(t, llmtest.Play(t, llmtest.Say("a"), llmtest.Say("b")))
	tr := llmtest.Loopback()
	defer tr.CloseIdleConnections()
	rec := llmtest.Record(tr, path)
	for _, q := range []string{"one", "two"} {
		if o := watch(t, claude(rec, s.URL), ask(q)); o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	replay := func(o llmtest.ReplayOptions, q string) outcome {
		p, err := llmtest.Replay(path, o)
		if err != nil {
			t.Fatal(err)
		}
		return watch(t, claude(p, "http://unreachable.invalid"), ask(q))
	}
	if o := replay(llmtest.ReplayOptions{}, "two"); o.Err == nil || !strings.Contains(o.Err.Error(), `messages[0].content[0].text is "\"two\"", recorded was "\"one\""`) {
		t.Error(o.Err)
	}
	if o := replay(llmtest.ReplayOptions{AnyOrder: true}, "two"); o.Err != nil || text(o.Events) != "b" {
		t.Error(o)
	}
	if o := replay(llmtest.ReplayOptions{Loose: true}, "something else"); o.Err != nil || text(o.Events) != "a" {
		t.Error(o)
	}
	for content, want := range map[string]string{`{"version":9}`: "version 9", `[`: "unexpected end", `{"version":1,"exchanges":[{"body":"abc","chunks":[1]}]}`: "add up to 1 bytes"} {
		bad := filepath.Join(t.TempDir(), "b.json")
		if err := os.WriteFile(bad, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := llmtest.Replay(bad, llmtest.ReplayOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", content, err)
		}
	}
}

// TestReplayOnEveryWire: what was recorded is replayed to the same events and
// the same error, also where a key that the answer quotes was taken out of
// a frame with a checksum.
func TestReplayOnEveryWire(t *testing.T) {
	for name, a := range adapters {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.json")
			s := llmtest.NewServer(t, llmtest.Play(t,
				llmtest.Think("Hm.").Say("漢字 and more").Call("Look", map[string]string{"thing": "x"}),
				llmtest.Status(429, llmtest.RetryAfter(3e9)),
				llmtest.Say("some text").Fail(&llm.Error{Kind: llm.KindServer}),
				llmtest.Say("Your key is "+secret+"."),
			))
			tr := llmtest.Loopback()
			defer tr.CloseIdleConnections()
			rec := llmtest.Record(tr, path)
			var live []outcome
			m := a.open(s.BaseURL(a.wire), &http.Client{Transport: rec})
			reqs := []*llm.Request{ask("first"), ask("second"), ask("third"), ask("my key is " + secret)}
			for _, r := range reqs {
				live = append(live, watch(t, m, r))
			}
			if err := rec.Close(); err != nil {
				t.Fatal(err)
			}
			p, err := llmtest.Replay(path, llmtest.ReplayOptions{})
			if err != nil {
				t.Fatal(err)
			}
			m = a.open(s.BaseURL(a.wire), &http.Client{Transport: p})
			for i, r := range reqs[:3] {
				got := watch(t, m, r)
				var a, b *llm.Error
				errors.As(got.Err, &a)
				errors.As(live[i].Err, &b)
				if !reflect.DeepEqual(got.Events, live[i].Events) || (a == nil) != (b == nil) || a != nil && (a.Kind != b.Kind || a.RetryAfter != b.RetryAfter) {
					t.Errorf("%d: replayed %+v, live %+v", i, got, live[i])
				}
			}
			got := watch(t, m, reqs[3])
			if s := text(got.Events); got.Err != nil || len(s) != len(text(live[3].Events)) || strings.Contains(s, "abcdefghij") {
				t.Errorf("replayed %q, %v, live %q", text(got.Events), got.Err, text(live[3].Events))
			}
		})
	}
}

package builtin

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

func TestCaptureSessionQuota(t *testing.T) {
	q := &quota{}
	q.used.Store(sessionMax - 50_000)
	dir := t.TempDir()
	make := func() *capture { return &capture{quota: q, dir: func() (string, error) { return dir, nil }} }
	first, second := make(), make()
	for range 10 {
		_, _ = first.Write([]byte(strings.Repeat("x", 10_000)))
	}
	_, _ = second.Write([]byte(strings.Repeat("y", 40_000)))
	first.close()
	second.close()
	if fi, err := os.Stat(first.filePath()); err != nil || fi.Size() != 50_000 {
		t.Errorf("%v %v", fi, err)
	}
	if w := first.where(); !strings.HasPrefix(w, "The first 50000 of 100000 bytes are in ") || !strings.Contains(w, "1024 MiB of one session") {
		t.Errorf("%s", w)
	}
	if w := second.where(); !strings.HasPrefix(w, "The first 0 of 40000 bytes") {
		t.Errorf("%s", w)
	}
	if q.used.Load() != sessionMax {
		t.Errorf("%d used", q.used.Load())
	}
	// What is in no file is read from memory, and the gap is named.
	if s, next := first.since(60_000); !strings.HasPrefix(s, "xxx") && !strings.HasPrefix(s, "[… ") || next <= 60_000 {
		t.Errorf("%.60q %d", s, next)
	}
}

// A full disk ends no command, and the model is told what is missing.
func TestCaptureDiskFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no device that is always full: %v", err)
	}
	c := &capture{quota: &quota{}, file: full, path: "/somewhere/output.txt", dir: func() (string, error) { return "", os.ErrInvalid }}
	line := strings.Repeat("z", 999) + "\n"
	for range 100 {
		if n, err := c.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatalf("%d %v", n, err)
		}
	}
	c.close()
	if w := c.where(); !strings.HasPrefix(w, "The first 0 of 100000 bytes are in /somewhere/output.txt (the rest could not be kept: ") {
		t.Error(w)
	}
	if s, cutOff := c.text(); !cutOff || !strings.HasPrefix(s, line) || !strings.HasSuffix(s, line) {
		t.Errorf("%d bytes", len(s))
	}
	if s, next := c.since(0); !strings.Contains(s, "bytes were not kept") || next == 0 {
		t.Errorf("%.50q %d", s, next)
	}
}

// However output comes, it can be read whole in pieces, and what the model
// sees is its beginning and its end, cut between runes.
func TestCapturePieces(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		text := strings.Repeat("añ€😀\tz\n", 1+rnd.IntN(12_000))
		dir := t.TempDir()
		c := &capture{quota: &quota{}, dir: func() (string, error) { return dir, nil }}
		var shown, read strings.Builder
		c.show = func(s string) { shown.WriteString(s) }
		var at int64
		pull := func() {
			s, next := c.since(at)
			read.WriteString(s)
			at = next
		}
		for rest := text; rest != ""; {
			n := min(1+rnd.IntN(1+rnd.IntN(90_000)), len(rest))
			if _, err := c.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
			if rnd.IntN(3) == 0 {
				pull()
			}
		}
		c.close()
		for at < int64(len(text)) {
			pull()
		}
		if read.String() != text {
			t.Fatalf("of %d bytes, %d were read back otherwise", len(text), read.Len())
		}
		s, cutOff := c.text()
		if cutOff != (len(text) > outputBytes) {
			t.Fatalf("%d bytes: cut %v", len(text), cutOff)
		}
		if !cutOff && s != text {
			t.Fatalf("%d bytes: shown otherwise", len(text))
		}
		if head, tail, ok := strings.Cut(s, "\n[…"); cutOff && (!ok || !strings.HasPrefix(text, head) || len(head) < outputHead-4) {
			t.Fatalf("head of %d, tail of %d bytes", len(head), len(tail))
		} else if _, tail, ok := strings.Cut(tail, "…]\n"); cutOff && (!ok || !strings.HasSuffix(text, tail) || len(tail) < outputTail-4) {
			t.Fatalf("tail of %d bytes", len(tail))
		}
		if strings.Contains(shown.String(), "\uFFFD") && len(text) < showMax {
			t.Fatal("a rune was cut while it was shown")
		}
		if cap(c.end) > 4*outputBytes || cap(c.fresh) > 4*showMax {
			t.Fatalf("memory: %d and %d bytes", cap(c.end), cap(c.fresh))
		}
	}
}

func TestCredentialLike(t *testing.T) {
	for name, want := range map[string]bool{
		"OPENAI_API_KEY": true, "openai_api_key": true, "GITHUB_TOKEN": true, "X_SECRET_Y": true, "DB_PASSWORD": true, "PGPASSWORD": true,
		"AWS_ACCESS_KEY_ID": true, "SIGNING_KEY": true, "SMTP_PASS": true, "GOOGLE_APPLICATION_CREDENTIALS": true,
		"PATH": false, "HOME": false, "KEYBOARD": false, "MONKEY": false, "GOPROXY": false, "LC_ALL": false,
	} {
		if got := credentialLike(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for v, want := range map[string]bool{
		"https://proxy.example.com,direct": false, "https://u:p@host/x": true, "a,https://t@host": true, "https://host/a@b": false, "me@host": false, "": false,
	} {
		if got := holdsLogin(v); got != want {
			t.Errorf("%s: %v", v, got)
		}
	}
}

package seatbelt_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/cantle-dev/cantle/sandbox"
	"github.com/cantle-dev/cantle/sandbox/seatbelt"
)

var update = flag.Bool("update", false, "write the golden files")

func TestProfile(t *testing.T) {
	for name, c := range map[string]struct {
		policy sandbox.Policy
		proxy  string
	}{
		"workspace": {sandbox.Policy{
			WriteRoots: []string{"/Users/ann/work", "/private/tmp/x"}, ReadOnly: []string{"/Users/ann/work/.git/hooks"},
			Hide: []string{"/Users/ann/.ssh", "/Users/ann/work/.env"}, NoNetwork: true,
		}, ""},
		"domains":  {sandbox.Policy{WriteRoots: []string{}, NoNetwork: true, Domains: []string{"example.com"}}, "127.0.0.1:4711"},
		"open":     {sandbox.Policy{WriteRoots: []string{`/Users/ann/a "b\`}}, ""},
		"anywhere": {sandbox.Policy{Hide: []string{"/Users/ann/.ssh"}}, ""},
	} {
		got, err := seatbelt.Profile(c.policy, c.proxy)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", name+".sb")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	for _, bad := range []string{"/a\nb", "/a\x00"} {
		if got, err := seatbelt.Profile(sandbox.Policy{WriteRoots: []string{bad}}, ""); err == nil {
			t.Errorf("%q: %s", bad, got)
		}
	}
	if _, err := seatbelt.Profile(sandbox.Policy{NoNetwork: true}, `x:1") (allow default`); err == nil {
		t.Error("an address that is none")
	}
}

package credential_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/internal/credential"
)

const storeVariable = "CANTLE_TEST_STORE"

// stored are the keys that the program which is killed stores in turn.
var stored = []string{strings.Repeat("first-", 2000), strings.Repeat("second-", 2000), "third"}

// storeForEver is that program.
func storeForEver(dir string) {
	s := credential.Store{Dir: dir}
	for i := 0; ; i++ {
		if _, err := s.Set(context.Background(), "x", stored[i%len(stored)]); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		fmt.Println(i)
	}
}

// TestKilled kills a program while it stores a key: there is a whole key
// whenever it is, nobody else could ever read it, and the next login works and
// leaves nothing behind.
func TestKilled(t *testing.T) {
	rounds := 12
	if os.Getenv("CANTLE_SOAK") != "" {
		rounds = 500
	}
	dir := t.TempDir()
	s := credential.Store{Dir: dir}
	for i := range rounds {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), storeVariable+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines, said := 1+rand.IntN(5), bufio.NewScanner(out)
		for ; lines > 0 && said.Scan(); lines-- {
			if strings.HasPrefix(said.Text(), "error") {
				t.Error(said.Text())
			}
		}
		for range rand.IntN(200_000) { // somewhere within a Set
			runtime.KeepAlive(i)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		key, _, err := s.Get(t.Context(), "x")
		if err != nil || key != stored[0] && key != stored[1] && key != stored[2] {
			t.Fatalf("round %d: %.30q, %v", i, key, err)
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if info, err := f.Info(); err == nil && runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v", f.Name(), info.Mode())
			}
		}
	}
	if _, err := s.Set(t.Context(), "x", "last"); err != nil {
		t.Error(err)
	}
	if err := s.Delete(t.Context(), "x"); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("%q, %v", left, err)
	}
}

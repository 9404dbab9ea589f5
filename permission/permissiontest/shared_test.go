package permissiontest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cantle-dev/cantle/permission/permissiontest"
)

// shared opens a file of the folder beside the repository that holds what
// several checkouts share.
func shared(t testing.TB, name string) *os.File {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("there is no go.mod above")
		}
	}
	f, err := os.Open(filepath.Join(dir, "..", "shared", name))
	if err != nil {
		t.Skip("the shared cases are not here: ", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestSharedCases(t *testing.T) {
	report, err := permissiontest.Run(shared(t, "permission-cases.jsonl"), permissiontest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Failures {
		t.Errorf("%+v", f)
	}
	if report.Passed < 300 {
		t.Errorf("%d cases passed", report.Passed)
	}
}

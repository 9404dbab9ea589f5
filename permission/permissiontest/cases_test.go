package permissiontest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cantle-dev/cantle/permission/permissiontest"
)

func TestCases(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "testdata", "cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	report, err := permissiontest.Run(f, permissiontest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Failures {
		t.Errorf("%+v", f)
	}
	if report.Passed < 200 {
		t.Errorf("%d cases passed", report.Passed)
	}
}

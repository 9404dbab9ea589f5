package txtar_test

import (
	"reflect"
	"testing"

	"github.com/cantle-dev/cantle/internal/x/txtar"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     txtar.Archive
		out      string
	}{
		{"nothing", "", txtar.Archive{}, ""},
		{"a comment alone", "hello", txtar.Archive{Comment: "hello\n"}, "hello\n"},
		{
			"files", "c\n-- a --\n1\n\n2\n-- b/c d --\n-- e --\nx",
			txtar.Archive{Comment: "c\n", Files: []txtar.File{{"a", "1\n\n2\n"}, {"b/c d", ""}, {"e", "x\n"}}},
			"c\n-- a --\n1\n\n2\n-- b/c d --\n-- e --\nx\n",
		},
		{
			"CRLF", "-- a --\r\n1\r\n",
			txtar.Archive{Files: []txtar.File{{"a", "1\n"}}},
			"-- a --\n1\n",
		},
		{
			"no markers", "-- --\n--  --\n-- a--\n--a --\n -- a --\n",
			txtar.Archive{Comment: "-- --\n--  --\n-- a--\n--a --\n -- a --\n"},
			"-- --\n--  --\n-- a--\n--a --\n -- a --\n",
		},
	} {
		a := txtar.Parse([]byte(c.in))
		if !reflect.DeepEqual(*a, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, *a, c.want)
		}
		if got := string(a.Bytes()); got != c.out {
			t.Errorf("%s: written as %q, want %q", c.name, got, c.out)
		}
	}
}

func TestSet(t *testing.T) {
	a := txtar.Parse([]byte("-- a --\n1\n"))
	a.Set("a", "2\n")
	a.Set("b", "3")
	if got, want := string(a.Bytes()), "-- a --\n2\n-- b --\n3\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if d, ok := a.Get("a"); d != "2\n" || !ok {
		t.Errorf("a is %q, %v", d, ok)
	}
	if _, ok := a.Get("c"); ok {
		t.Error("there is no c")
	}
}

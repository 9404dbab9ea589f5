package builtin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// book is a notebook as Jupyter writes it, with what is easily mistaken: the
// text of a cell in the metadata before, an empty source before empty outputs,
// characters that JSON need not escape.
const book = `{
 "metadata": {"cells": [{"cell_type": "markdown", "id": "m", "metadata": {}, "source": []}]},
 "cells": [
  {
   "cell_type": "markdown",
   "id": "m",
   "metadata": {},
   "source": []
  },
  {
   "cell_type": "code",
   "execution_count": 1,
   "id": "c",
   "metadata": {"x": 1.50},
   "outputs": [
    {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": ["<Figure>"]}},
    {"output_type": "error", "ename": "E", "evalue": "bad"}
   ],
   "source": [
    "a < \"b\" & c\n",
    "d"
   ]
  },
  {
   "cell_type": "code",
   "id": "e",
   "metadata": {},
   "source": [],
   "outputs": []
  },
  {"cell_type": "raw", "id": "r", "metadata": {}, "source": "one\ntwo"}
 ],
 "nbformat": 4, "nbformat_minor": 5
}
`

func TestNotebookIsRead(t *testing.T) {
	b := newBench(t)
	b.write("n.ipynb", book)
	want := "[cell 1, markdown, id m]\n\n[cell 2, code, id c]\na < \"b\" & c\nd\n[output]\n<Figure>\n[image/png]\nE: bad\n[cell 3, code, id e]\n\n[cell 4, raw, id r]\none\ntwo"
	if got := b.ok("Read", m{"file_path": "n.ipynb"}); got != want {
		t.Errorf("%q", got)
	}
	if got := b.ok("Read", m{"file_path": "n.ipynb", "offset": 3, "limit": 1}); got != "[cell 3, code, id e]\n\n[Showing cells 3-3 of 4. Go on with offset 4.]" {
		t.Errorf("%q", got)
	}
	b.fails("which has 4 cells", "Read", m{"file_path": "n.ipynb", "offset": 5})
	b.write("bad.ipynb", "{")
	b.fails("not a notebook", "Read", m{"file_path": "bad.ipynb"})
	b.write("old.ipynb", `{"worksheets": []}`)
	b.fails("not a notebook of version 4", "Read", m{"file_path": "old.ipynb"})
	b.write("long.ipynb", `{"cells": [{"cell_type": "code", "source": "`+strings.Repeat("é", 100_000)+`"}, {"cell_type": "code", "source": "x"}]}`)
	if got := b.ok("Read", m{"file_path": "long.ipynb"}); len(got) > 50<<10 || !strings.Contains(got, "more bytes in this cell") {
		t.Errorf("%d bytes", len(got))
	}
	b.fails("read the rest", "Write", m{"file_path": "long.ipynb", "content": "{}"})
}

func TestNotebookIsEditedInPlace(t *testing.T) {
	swap := func(old, repl string) string {
		if strings.Count(book, old) != 1 {
			t.Fatalf("%q is not there once", old)
		}
		return strings.Replace(book, old, repl, 1)
	}
	second := book[strings.Index(book, " \"cells\": [\n"):]
	first := strings.TrimSuffix(book, second)
	for name, c := range map[string]struct {
		in   m
		want string
	}{
		"lines":            {m{"cell": "c", "new_string": "x\n<y>\n"}, swap("    \"a < \\\"b\\\" & c\\n\",\n    \"d\"\n", "    \"x\\n\",\n    \"<y>\\n\"\n")},
		"a part":           {m{"cell": 2, "old_string": "d", "new_string": "D"}, swap("    \"d\"\n", "    \"D\"\n")},
		"parts":            {m{"cell": 2, "edits": []m{{"old_string": "\nd", "new_string": ""}, {"old_string": "a <", "new_string": "b <"}}}, swap("    \"a < \\\"b\\\" & c\\n\",\n    \"d\"\n", "    \"b < \\\"b\\\" & c\"\n")},
		"found":            {m{"old_string": "& c", "new_string": "& C"}, swap("& c\\n", "& C\\n")},
		"a string":         {m{"cell": "r", "new_string": "three\n"}, swap(`"one\ntwo"`, `"three\n"`)},
		"an empty source":  {m{"cell": "e", "new_string": "x"}, swap("   \"source\": [],\n   \"outputs\": []", "   \"source\": [\n    \"x\"\n   ],\n   \"outputs\": []")},
		"the first":        {m{"cell": 1, "new_string": "x"}, first + strings.Replace(second, "   \"source\": []", "   \"source\": [\n    \"x\"\n   ]", 1)},
		"to nothing":       {m{"cell": "c", "new_string": ""}, swap("[\n    \"a < \\\"b\\\" & c\\n\",\n    \"d\"\n   ]", "[]")},
		"delete the first": {m{"cell": "m", "mode": "delete"}, first + strings.Replace(second, "  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"m\",\n   \"metadata\": {},\n   \"source\": []\n  },\n", "", 1)},
		"delete the last":  {m{"cell": 4, "mode": "delete"}, swap(",\n  {\"cell_type\": \"raw\", \"id\": \"r\", \"metadata\": {}, \"source\": \"one\\ntwo\"}", "")},
		"insert markdown":  {m{"cell": "e", "mode": "insert", "cell_type": "markdown", "new_string": "# T\n"}, swap("   \"outputs\": []\n  },\n", "   \"outputs\": []\n  },\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"ID\",\n   \"metadata\": {},\n   \"source\": [\n    \"# T\\n\"\n   ]\n  },\n")},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("n.ipynb", book)
			b.ok("Read", m{"file_path": "n.ipynb"})
			c.in["file_path"] = "n.ipynb"
			b.ok("Edit", c.in)
			got := b.content("n.ipynb")
			var nb struct {
				Cells []struct{ ID string }
			}
			if err := json.Unmarshal([]byte(got), &nb); err != nil {
				t.Fatal(err)
			}
			for _, cl := range nb.Cells {
				if len(cl.ID) == 8 {
					got = strings.Replace(got, cl.ID, "ID", 1)
				}
			}
			if got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// Whatever the layout, a notebook stays one, and loses no cell.
func TestNotebookLayouts(t *testing.T) {
	for name, text := range map[string]string{
		"jupyter":  "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"source\": [\n    \"x\"\n   ]\n  }\n ]\n}",
		"tabs":     "{\n\t\"cells\": [\n\t\t{\n\t\t\t\"cell_type\": \"code\",\n\t\t\t\"source\": \"x\"\n\t\t}\n\t]\n}",
		"compact":  `{"cells":[{"cell_type":"code","source":["x"]}]}`,
		"one line": "{\n \"cells\": [{\"cell_type\": \"code\", \"source\": [\"x\"]}]\n}",
		"CRLF":     "{\r\n \"cells\": [\r\n  {\r\n   \"cell_type\": \"code\",\r\n   \"source\": [\r\n    \"x\"\r\n   ]\r\n  }\r\n ]\r\n}",
		"empty":    "{\n \"cells\": []\n}",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("n.ipynb", text)
			b.ok("Read", m{"file_path": "n.ipynb"})
			cells := func(want ...string) {
				t.Helper()
				var nb struct {
					Cells []struct{ Source any }
				}
				now := b.content("n.ipynb")
				if err := json.Unmarshal([]byte(now), &nb); err != nil {
					t.Fatalf("%v in %s", err, now)
				}
				var got []string
				for _, c := range nb.Cells {
					got = append(got, strings.Trim(strings.ReplaceAll(fmt.Sprint(c.Source), "\n ", "\n"), "[]"))
				}
				if strings.Join(got, "|") != strings.Join(want, "|") {
					t.Fatalf("%q in %s", got, now)
				}
				if name == "CRLF" && strings.Count(now, "\n") != strings.Count(now, "\r\n") {
					t.Errorf("%q", now)
				}
			}
			ins := func(cell any, text string) {
				in := m{"file_path": "n.ipynb", "mode": "insert", "new_string": text}
				if cell != nil {
					in["cell"] = cell
				}
				b.ok("Edit", in)
			}
			if name == "empty" {
				ins(nil, "x")
			}
			ins(nil, "last\nof all")
			ins(0, "first")
			ins(2, "third")
			cells("first", "x", "third", "last\nof all")
			b.ok("Edit", m{"file_path": "n.ipynb", "cell": 2, "mode": "delete"})
			b.ok("Edit", m{"file_path": "n.ipynb", "cell": 3, "mode": "delete"})
			cells("first", "third")
			b.ok("Edit", m{"file_path": "n.ipynb", "cell": 1, "new_string": "1\n2\n"})
			cells("1\n2\n", "third")
			b.ok("Edit", m{"file_path": "n.ipynb", "cell": 1, "mode": "delete"})
			b.ok("Edit", m{"file_path": "n.ipynb", "cell": 1, "mode": "delete"})
			cells()
		})
	}
}

func TestNotebookRefusals(t *testing.T) {
	b := newBench(t)
	b.write("n.ipynb", book)
	b.ok("Read", m{"file_path": "n.ipynb", "limit": 2})
	for want, in := range map[string]m{
		"no cell 5":                   {"cell": 5, "new_string": "x"},
		"no cell 0":                   {"cell": 0, "new_string": "x"},
		"has the id":                  {"cell": "zz", "new_string": "x"},
		"cell 3 of n.ipynb was not":   {"cell": 3, "new_string": "x"},
		"in 0 of the notebook's 4":    {"old_string": "nowhere", "new_string": "x"},
		"name the cell":               {"new_string": "x"},
		"is a markdown cell":          {"cell": 1, "cell_type": "code", "new_string": "x"},
		"takes the whole cell":        {"cell": 1, "mode": "delete", "new_string": "x"},
		"as new_string alone":         {"cell": 1, "mode": "insert", "old_string": "x"},
		"has this source already":     {"cell": 1, "new_string": ""},
		"cell 2, edit 1 of 1":         {"cell": 2, "old_string": "zzz", "new_string": "x"},
		"read on from offset 3":       nil,
		"cell 4 of n.ipynb was not r": {"cell": "r", "mode": "delete"},
	} {
		if in == nil {
			b.fails(want, "Write", m{"file_path": "n.ipynb", "content": "{}"})
			continue
		}
		in["file_path"] = "n.ipynb"
		b.fails(want, "Edit", in)
	}
	if b.content("n.ipynb") != book {
		t.Error("a refused edit changed the notebook")
	}
	// Lines that Grep shows are no cells.
	b.ok("Grep", m{"pattern": "one", "path": ".", "output_mode": "content"})
	b.fails("cell 4 of n.ipynb was not read", "Edit", m{"file_path": "n.ipynb", "cell": 4, "new_string": "x"})
	// A cell put before others moves what is known of them.
	b.ok("Edit", m{"file_path": "n.ipynb", "cell": 0, "mode": "insert", "new_string": "new"})
	b.ok("Edit", m{"file_path": "n.ipynb", "cell": 3, "new_string": "x"})
	b.fails("cell 4 of n.ipynb was not read", "Edit", m{"file_path": "n.ipynb", "cell": 4, "new_string": "x"})
}

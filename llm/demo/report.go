package demo

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

const opening = "I am Cantle's built-in stand-in, not a language model: I understand nothing, but the tools that I called are real. Here is what they found.\n"

// report says what was found, with lines quoted as they stand in the files.
func report(prompt string, steps []step, tools map[string]bool) string {
	var b strings.Builder
	b.WriteString(opening)
	if len(tools) == 0 {
		b.WriteString("\nI was given no tools, so I looked at nothing.\n")
		return b.String()
	}
	if fs := files(steps); len(fs) > 0 {
		fmt.Fprintf(&b, "\nThe working directory has %d files listed: %s.\n", len(fs), kinds(fs))
	}
	quoted := false
	for _, s := range steps {
		switch s.call.Name {
		case "Read":
			quoted = quoteRead(&b, s) || quoted
		case "Grep":
			quoted = quoteGrep(&b, s) || quoted
		case "Bash":
			quoteBash(&b, s)
		}
	}
	if !quoted {
		b.WriteString("\nThere was no text to quote.\n")
	}
	if prompt != "" {
		b.WriteString("\nTo have your question answered, name a real model with -m.\n")
	}
	return b.String()
}

func kinds(fs []string) string {
	n := map[string]int{}
	for _, f := range fs {
		ext := path.Ext(f)
		if ext == "" {
			ext = "no extension"
		}
		n[ext]++
	}
	exts := slices.SortedFunc(maps.Keys(n), func(a, b string) int {
		if n[a] != n[b] {
			return n[b] - n[a]
		}
		return strings.Compare(a, b)
	})
	var out []string
	for _, e := range exts[:min(len(exts), 5)] {
		out = append(out, fmt.Sprintf("%d with %s", n[e], e))
	}
	return strings.Join(out, ", ")
}

func arg(s step, name string) string {
	var m map[string]any
	_ = json.Unmarshal(s.call.Input, &m) // our own call
	v, _ := m[name].(string)
	return v
}

// quoteRead quotes the first two lines with words in them.
func quoteRead(b *strings.Builder, s step) bool {
	name := arg(s, "file_path")
	if s.result.IsError {
		fmt.Fprintf(b, "\n%s could not be read: %s\n", name, firstLine(s.result.Parts.Text()))
		return false
	}
	n := 0
	for line := range strings.Lines(s.result.Parts.Text()) {
		num, text, ok := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		num = strings.TrimSpace(num)
		if !ok || strings.Trim(num, "0123456789") != "" || !wordy(text) {
			continue
		}
		fmt.Fprintf(b, "\n%s:%s says:\n> %s\n", name, num, text)
		if n++; n == 2 {
			break
		}
	}
	return n > 0
}

func wordy(s string) bool {
	letters := 0
	for _, r := range s {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			letters++
		}
	}
	return letters >= 8 && len(s) < 300
}

func quoteGrep(b *strings.Builder, s step) bool {
	if s.result.IsError {
		return false
	}
	n := 0
	for line := range strings.Lines(s.result.Parts.Text()) {
		line = strings.TrimRight(line, "\n")
		if strings.Count(line, ":") < 2 || strings.HasPrefix(line, "[") || len(line) > 300 {
			continue
		}
		if n == 0 {
			fmt.Fprintf(b, "\n%q stands in:\n", arg(s, "pattern"))
		}
		fmt.Fprintf(b, "> %s\n", line)
		if n++; n == 3 {
			break
		}
	}
	return n > 0
}

func quoteBash(b *strings.Builder, s step) {
	text := strings.TrimSpace(s.result.Parts.Text())
	if s.result.IsError {
		fmt.Fprintf(b, "\nThe command %q was not run: %s\n", arg(s, "command"), firstLine(text))
		return
	}
	lines := strings.Split(text, "\n")
	fmt.Fprintf(b, "\nThe command %q printed %d line(s), of which the first is %q.\n", arg(s, "command"), len(lines), lines[0])
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// example makes a value that fits a schema, of its simplest.
func example(schema json.RawMessage) json.RawMessage {
	return fit(schema, schema, 0)
}

func fit(root, schema json.RawMessage, depth int) json.RawMessage {
	var s struct {
		Type       any                        `json:"type"`
		Enum       []json.RawMessage          `json:"enum"`
		Const      json.RawMessage            `json:"const"`
		Default    json.RawMessage            `json:"default"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Items      json.RawMessage            `json:"items"`
		MinItems   int                        `json:"minItems"`
		MinLength  int                        `json:"minLength"`
		Minimum    json.RawMessage            `json:"minimum"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
		OneOf      []json.RawMessage          `json:"oneOf"`
		Ref        string                     `json:"$ref"`
	}
	if json.Unmarshal(schema, &s) != nil || depth > 16 {
		return json.RawMessage("null")
	}
	switch {
	case s.Ref != "":
		at := root
		for _, p := range strings.Split(strings.TrimPrefix(s.Ref, "#/"), "/") {
			var m map[string]json.RawMessage
			if json.Unmarshal(at, &m) != nil {
				return json.RawMessage("null")
			}
			at = m[p]
		}
		return fit(root, at, depth+1)
	case s.Const != nil:
		return s.Const
	case s.Default != nil:
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AnyOf) > 0:
		return fit(root, s.AnyOf[0], depth+1)
	case len(s.OneOf) > 0:
		return fit(root, s.OneOf[0], depth+1)
	}
	kind, _ := s.Type.(string)
	if list, ok := s.Type.([]any); ok && len(list) > 0 {
		kind, _ = list[0].(string)
	}
	switch kind {
	case "object", "":
		out := map[string]json.RawMessage{}
		for _, r := range s.Required {
			out[r] = fit(root, s.Properties[r], depth+1)
		}
		b, _ := json.Marshal(out) // raw JSON marshals
		return b
	case "array":
		items := make([]json.RawMessage, s.MinItems)
		for i := range items {
			items[i] = fit(root, s.Items, depth+1)
		}
		b, _ := json.Marshal(items) // raw JSON marshals
		return b
	case "string":
		text := "stand-in"
		for len(text) < s.MinLength {
			text += "-stand-in"
		}
		b, _ := json.Marshal(text) // a string marshals
		return b
	case "integer", "number":
		if s.Minimum != nil {
			return s.Minimum
		}
		return json.RawMessage("0")
	case "boolean":
		return json.RawMessage("false")
	}
	return json.RawMessage("null")
}

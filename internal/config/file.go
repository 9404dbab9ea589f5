package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/cantle-dev/cantle/agent"
	"github.com/cantle-dev/cantle/llm"
)

// A settings file comes with a repository, so that what it may cost to read is
// bounded: maxFile is its most bytes, and maxDepth its deepest nesting.
const (
	maxFile  = 1 << 20
	maxDepth = 64
)

// readFile reads a settings file; nil without an error if there is none. A file
// that is not a regular one is refused before it is opened: to open a pipe
// would wait for its writer.
func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{File: name, Text: err.Error()}
	}
	if !info.Mode().IsRegular() {
		return nil, &Error{File: name, Text: "it is not a regular file: remove it, or put a file there"}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, &Error{File: name, Text: err.Error()}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, &Error{File: name, Text: err.Error()}
	case len(b) > maxFile:
		return nil, &Error{File: name, Text: fmt.Sprintf("it is larger than %d KiB", maxFile>>10)}
	}
	if line := tooDeep(b); line > 0 {
		return nil, &Error{File: name, Line: line, Text: fmt.Sprintf("more than %d objects and lists are within each other", maxDepth)}
	}
	if b == nil {
		b = []byte{}
	}
	return b, nil
}

// tooDeep returns the line at which JSON with comments is nested deeper than
// maxDepth; 0 if it nowhere is. Text that is no JSON is judged by the parser,
// which goes no deeper than was counted here: what it takes for a string or a
// comment is taken for one here too.
func tooDeep(b []byte) int {
	depth, line := 0, 1
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '\n':
			line++
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return line
			}
		case c == ']' || c == '}':
			depth--
		case c == '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\n' {
					line++
				} else if b[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(b) && b[i+1] == '/':
			for i < len(b) && b[i] != '\n' {
				i++
			}
			line++
		case c == '/' && i+1 < len(b) && b[i+1] == '*':
			for i += 2; i < len(b) && (b[i] != '/' || b[i-1] != '*'); i++ {
				if b[i] == '\n' {
					line++
				}
			}
		}
	}
	return 0
}

// widens reports whether a limit in a project's file is weaker than what the
// user has: the user's own limit or the default. A value that cannot be read is
// not wider: it is an error where it is used.
func (c *Config) widens(key string, raw json.RawMessage) bool {
	var n int64
	var s string
	switch key {
	case "maxTurns":
		have := int64(c.MaxTurns)
		if have == 0 {
			have = agent.DefaultTurns
		}
		return json.Unmarshal(raw, &n) == nil && (n <= 0 || n > have)
	case "maxTokens":
		return json.Unmarshal(raw, &n) == nil && c.MaxTokens > 0 && (n <= 0 || n > c.MaxTokens)
	case "maxCost":
		if c.MaxCost == "" || json.Unmarshal(raw, &s) != nil {
			return false
		}
		have, err := llm.ParseMoney(c.MaxCost)
		if err != nil || have == 0 {
			return false
		}
		m, err := llm.ParseMoney(s)
		return s == "" || err == nil && (m == 0 || m > have)
	case "timeout":
		if json.Unmarshal(raw, &s) != nil {
			return false
		}
		have, _ := time.ParseDuration(c.Timeout) // 0: there is no limit yet
		d, err := time.ParseDuration(s)
		return have > 0 && (s == "" || err == nil && (d <= 0 || d > have))
	}
	return false
}

// checkNumbers refuses what is of the right type and means nothing.
func (c *Config) checkNumbers() *Error {
	for key, n := range map[string]int64{"maxTurns": int64(c.MaxTurns), "maxTokens": c.MaxTokens} {
		if n < 0 {
			return &Error{Key: key, Text: strconv.FormatInt(n, 10) + " is less than 0"}
		}
	}
	for ref, m := range c.Models {
		for key, n := range map[string]int{"context": m.Context, "output": m.Output} {
			if n < 0 {
				return &Error{Key: "models." + ref + "." + key, Text: strconv.Itoa(n) + " is less than 0"}
			}
		}
	}
	return nil
}

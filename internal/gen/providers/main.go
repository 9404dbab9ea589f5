// Command providers writes the table of providers into docs/providers.md, of
// what llm/catalog knows of them and of how the recorded exchanges went:
//
//	go run ./internal/gen/providers
//
// Those numbers are in recorded.json, since the exchanges are not part of the
// repository. Who has them makes the file anew, with the date of the day:
//
//	go run ./llm/llmtest/replay -json DIR | go run ./internal/gen/providers -recorded
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

func main() {
	root := flag.String("C", ".", "the root of the repository")
	fromReplay := flag.Bool("recorded", false, "read what replay -json writes from standard input, and keep it in recorded.json")
	flag.Parse()
	err := error(nil)
	if *fromReplay {
		err = keep(os.Stdin, *root, time.Now())
	}
	if err == nil {
		err = run(*root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "providers:", err)
		os.Exit(1)
	}
}

func page(root string) string { return filepath.Join(root, "docs", "providers.md") }

func run(root string) error {
	old, err := os.ReadFile(page(root))
	if err != nil {
		return err
	}
	r, err := read(root)
	if err != nil {
		return err
	}
	t, err := table(r)
	if err != nil {
		return err
	}
	text, err := between(string(old), t)
	if err != nil || text == string(old) {
		return err
	}
	return os.WriteFile(page(root), []byte(text), 0o644)
}

// recorded is how the recorded exchanges of each provider went on a day.
type recorded struct {
	Date      string           `json:"date"`
	Providers map[string]count `json:"providers"`
}

type count struct {
	Passed int `json:"passed"`
	Failed int `json:"failed"`
}

func file(root string) string {
	return filepath.Join(root, "internal", "gen", "providers", "recorded.json")
}

func read(root string) (r recorded, err error) {
	text, err := os.ReadFile(file(root))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s: %w", file(root), err)
	}
	return r, nil
}

// keep makes recorded.json of what replay wrote.
func keep(in io.Reader, root string, now time.Time) error {
	r := recorded{Date: now.Format(time.DateOnly)}
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return fmt.Errorf("what replay wrote: %w", err)
	}
	if len(r.Providers) == 0 {
		return fmt.Errorf("replay counted no provider")
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file(root), append(text, '\n'), 0o644)
}

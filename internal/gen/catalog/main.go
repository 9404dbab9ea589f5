// Command catalog makes the data of llm/catalog from a published list of
// models and from a file of corrections by hand.
//
//	npm pack @earendil-works/pi-ai@1.6.0
//	go run ./internal/gen/catalog earendil-works-pi-ai-1.6.0.tgz
//
// It writes one file a provider under llm/catalog/data, and data/NOTICE with
// the licences of the sources. The same input makes the same bytes. What is
// odd in the source is reported on standard error, and never guessed at.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	out := flag.String("out", "llm/catalog/data", "the folder to write to")
	overlay := flag.String("overlay", "internal/gen/catalog/overlay.json", "the file of corrections")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/gen/catalog [-out DIR] [-overlay FILE] TARBALL")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *overlay, *out); err != nil {
		fmt.Fprintln(os.Stderr, "catalog:", err)
		os.Exit(1)
	}
}

func run(tarball, overlay, out string) error {
	packed, err := os.ReadFile(tarball)
	if err != nil {
		return err
	}
	corrections, err := os.ReadFile(overlay)
	if err != nil {
		return err
	}
	files, odd, err := generate(packed, corrections)
	if err != nil {
		return err
	}
	for _, o := range odd {
		fmt.Fprintln(os.Stderr, "odd:", o)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	// A provider that is no longer made must not stay behind.
	old, err := filepath.Glob(filepath.Join(out, "*.json.gz"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if _, ok := files[filepath.Base(name)]; !ok {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	for name, content := range files {
		name = filepath.Join(out, name)
		if have, err := os.ReadFile(name); err == nil && bytes.Equal(have, content) {
			continue
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
		fmt.Println("wrote", strings.TrimPrefix(filepath.ToSlash(name), "./"))
	}
	return nil
}

package jsonl_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/session"
	"github.com/cantle-dev/cantle/session/jsonl"
)

// A session is found by what was said in it, renamed, and listed.
func Example() {
	dir, err := os.MkdirTemp("", "sessions")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, now := context.Background(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	st, err := jsonl.Open(dir, jsonl.Options{})
	if err != nil {
		panic(err)
	}
	if err := st.Append(ctx, "s1", "", session.Entry{ID: "m1", Time: now, Data: session.Message{
		Message: llm.UserText("Why does the parser hang on an empty line?"), Kind: session.KindInput,
	}}); err != nil {
		panic(err)
	}
	for hit, err := range st.Search(ctx, "PARSER") {
		fmt.Println(hit.Session, hit.Entry, hit.Snippet, err)
	}
	s, err := session.Open(ctx, st, "s1", session.OpenOptions{})
	if err != nil {
		panic(err)
	}
	err = s.SetTitle(ctx, "t1", now, "The parser")
	if err := errors.Join(err, s.Close()); err != nil {
		panic(err)
	}
	for info, err := range st.List(ctx) {
		fmt.Printf("%s %q %q %d %v\n", info.ID, info.Title, info.Prompt, info.Entries, err)
	}
	// Output:
	// s1 m1 Why does the parser hang on an empty line? <nil>
	// s1 "The parser" "Why does the parser hang on an empty line?" 2 <nil>
}

// What can be read of a journal that was damaged goes into a new session.
func ExampleStore_Salvage() {
	dir, err := os.MkdirTemp("", "sessions")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	const damaged = `{"v":1,"id":"a","parent":"","kind":"label","time":"2026-01-02T03:04:05Z","data":{"name":"kept"}}
{"v":1,"id":"b","par
{"v":1,"id":"c","parent":"b","kind":"label","time":"2026-01-02T03:04:05Z","data":{"name":"kept too"}}
`
	if err := os.WriteFile(filepath.Join(dir, "s1.jsonl"), []byte(damaged), 0o600); err != nil {
		panic(err)
	}
	ctx := context.Background()
	st, err := jsonl.Open(dir, jsonl.Options{})
	if err != nil {
		panic(err)
	}
	_, err = session.Open(ctx, st, "s1", session.OpenOptions{})
	var corrupt *session.CorruptError
	fmt.Println(errors.As(err, &corrupt), "line", corrupt.Line)
	lost, err := st.Salvage(ctx, "s1", "s2")
	fmt.Println(lost, "lost", err)
	info, err := st.Info(ctx, "s2")
	fmt.Println(info.Title, info.Entries, err)
	// Output:
	// true line 2
	// 1 lost <nil>
	// kept too 2 <nil>
}

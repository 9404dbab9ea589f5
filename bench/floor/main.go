// Command floor is the least that a Go program can do in the place of an agent:
// it posts the same requests, parses the same streams and reads the same file,
// with no loop, tools, journal or policy. Cantle is measured against it.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
)

type message struct {
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: floor URL FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(url, file string) error {
	msgs := []message{{"user", []json.RawMessage{json.RawMessage(`{"type":"text","text":"go"}`)}}}
	for {
		body, err := json.Marshal(map[string]any{"model": "m", "stream": true, "max_tokens": 8192, "messages": msgs})
		if err != nil {
			return err
		}
		resp, err := http.Post(url+"/v1/messages", "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		var text, input strings.Builder
		id, name := "", ""
		br := bufio.NewReader(resp.Body)
		for {
			line, err := br.ReadBytes('\n')
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				var ev struct {
					Type  string                          `json:"type"`
					Block struct{ Type, ID, Name string } `json:"content_block"`
					Delta struct {
						Text    string `json:"text"`
						Partial string `json:"partial_json"`
					} `json:"delta"`
				}
				if err := json.Unmarshal(data, &ev); err != nil {
					return err
				}
				if ev.Block.Type == "tool_use" {
					id, name = ev.Block.ID, ev.Block.Name
				}
				text.WriteString(ev.Delta.Text)
				input.WriteString(ev.Delta.Partial)
			}
			if err != nil {
				break
			}
		}
		_ = resp.Body.Close()
		if name == "" {
			fmt.Println(text.String())
			return nil
		}
		call, _ := json.Marshal(map[string]any{"type": "tool_use", "id": id, "name": name, "input": json.RawMessage(input.String())})
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		result, _ := json.Marshal(map[string]any{"type": "tool_result", "tool_use_id": id, "content": string(b)})
		msgs = append(msgs, message{"assistant", []json.RawMessage{call}}, message{"user", []json.RawMessage{result}})
	}
}

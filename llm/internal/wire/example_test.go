package wire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// parrot is a wire that answers in lines of JSON.
type parrot struct{ url, name string }

func (p parrot) Info() llm.Info { return llm.Info{Provider: "parrot", Name: p.name, Wire: "parrot"} }

func (p parrot) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return wire.Sequence(func() (*wire.Stream, error) {
		var body wire.Body
		body.Value("model", p.name)
		body.Value("say", req.Messages[len(req.Messages)-1].Text())
		if err := body.Merge(req.Extra["parrot"]); err != nil {
			return nil, wire.Invalid(p.Info(), err)
		}
		return wire.Post(ctx, p.url, body.Join(), wire.Options{Provider: "parrot", Model: p.name, Framing: wire.NDJSON()})
	}, func(s *wire.Stream) wire.Decoder { return &parrotDecoder{s: s} })
}

type parrotDecoder struct {
	s    *wire.Stream
	text string
	done bool
}

func (d *parrotDecoder) Event(ev wire.Event) ([]llm.Event, error) {
	var line struct {
		Word  string          `json:"word"`
		Done  bool            `json:"done"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(ev.Data, &line); err != nil {
		return nil, d.s.Undecodable(ev, err)
	}
	if line.Error != nil {
		return nil, d.s.Failure(ev.Data)
	}
	d.text, d.done = d.text+line.Word, line.Done
	return []llm.Event{llm.TextDelta{Text: line.Word}}, nil
}

func (d *parrotDecoder) State() wire.State {
	switch {
	case d.done:
		return wire.Done
	case d.text != "":
		return wire.Begun
	}
	return wire.Empty
}

func (d *parrotDecoder) Response(bool) *llm.Response {
	return &llm.Response{Stop: llm.StopEnd, Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Texts(d.text)}}
}

// A wire of its own is an encoder and a decoder. The rest is here.
func ExampleSequence() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Println(string(b))
		_, _ = io.WriteString(w, "{\"word\":\"hello \"}\n{\"word\":\"again\",\"done\":true}\n")
	}))
	defer srv.Close()
	m := parrot{srv.URL, "polly"}
	resp, err := llm.Generate(context.Background(), m, &llm.Request{
		Messages: []llm.Message{llm.UserText("hello again")},
		Extra:    map[string]json.RawMessage{"parrot": json.RawMessage(`{"loud":true}`)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Message.Text())
	// Output:
	// {"loud":true,"model":"polly","say":"hello again"}
	// hello again
}

package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/llm/internal/wire"
)

// Details are what the server knows of a model.
type Details struct {
	Max    int // the longest window that the model was made for; 0 is not known
	NumCtx int // the window that its Modelfile asks for; 0 is none
	// Listed says that the server lists capabilities; older ones do not, and
	// the three that follow are then not known.
	Listed                  bool
	Tools, Images, Thinking bool
}

// Show asks the server for the details of the model (/api/show).
func (m *Model) Show(ctx context.Context) (Details, error) {
	var body wire.Body
	body.Value("model", m.info.Name)
	s, err := wire.Post(ctx, m.base+"/api/show", body.Join(), m.request())
	if err != nil {
		return Details{}, err
	}
	defer s.Close()
	ev, err := s.Next()
	switch {
	case err == io.EOF:
		return Details{}, s.Truncated()
	case err != nil:
		return Details{}, err
	}
	d, err := ParseShow(ev.Data)
	if err != nil {
		return Details{}, s.Undecodable(ev, err)
	}
	return d, nil
}

// ParseShow reads an answer of /api/show. A field of another type than is known
// is one that is not there.
func ParseShow(answer []byte) (Details, error) {
	var got struct {
		Parameters   string                     `json:"parameters"`
		Info         map[string]json.RawMessage `json:"model_info"`
		Capabilities []string                   `json:"capabilities"`
	}
	err := json.Unmarshal(answer, &got)
	if odd, ok := errors.AsType[*json.UnmarshalTypeError](err); err != nil && (!ok || odd.Field == "") {
		return Details{}, err
	}
	d := Details{
		Listed: got.Capabilities != nil, Tools: slices.Contains(got.Capabilities, "tools"),
		Images: slices.Contains(got.Capabilities, "vision"), Thinking: slices.Contains(got.Capabilities, "thinking"),
	}
	for name, v := range got.Info {
		if strings.HasSuffix(name, ".context_length") {
			d.Max = count(string(v))
		}
	}
	// The parameters are lines of "name   value".
	for line := range strings.Lines(got.Parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			d.NumCtx = count(f[1])
		}
	}
	return d, nil
}

func count(s string) int {
	var c wire.Count
	_ = c.UnmarshalJSON([]byte(s)) // what is no number is 0
	return int(c)
}

package catalog

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"sync"
)

//go:embed salvage.json
var salvage []byte

// leak is a family of models that is known to write tool calls as text.
type leak struct {
	Match []string `json:"match"` // patterns of [path.Match] for plain names
	Why   string   `json:"why"`
}

var leaks = sync.OnceValue(func() []leak {
	var out []leak
	if err := json.Unmarshal(salvage, &out); err != nil {
		panic(fmt.Sprintf("catalog: salvage.json: %v", err)) // it is embedded, and tested
	}
	return out
})

// WritesCalls says why a model of that name, on a server that people run by
// themselves, is to be expected to write tool calls into its text, where the
// server does not see them; "" if it is not. The name may be a path, as of
// a repository or of a file. The list is short on purpose: a family is on it
// where the form that it was taught is known to get past such servers.
func WritesCalls(model string) (why string) {
	name := plain(strings.ReplaceAll(model[strings.LastIndexByte(model, '/')+1:], ":", "-"))
	for _, l := range leaks() {
		for _, pattern := range l.Match {
			if ok, err := path.Match(pattern, name); err == nil && ok {
				return l.Why
			}
		}
	}
	return ""
}

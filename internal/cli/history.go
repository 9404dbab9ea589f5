package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/internal/x/atomicfile"
)

// The bounds of a history.
const (
	maxHistory      = 1000     // prompts
	maxHistoryLine  = 64 << 10 // bytes of one; a longer one is not kept
	maxHistoryBytes = 4 << 20  // read of the file, from its end
)

// history keeps what was typed, for other front ends too: a file of JSON
// strings, one a line, the last typed last, for the user alone.
type history struct {
	file  string   // "" keeps it in memory
	lines []string // each once, at its last place
}

// openHistory reads the file. One that has grown is written anew.
func openHistory(file string) *history {
	h := &history{file: file}
	f, err := os.Open(file)
	if err != nil {
		return h // there is none yet
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		h.file = ""
		return h
	} else if st.Size() > maxHistoryBytes {
		if _, err := f.Seek(-maxHistoryBytes, io.SeekEnd); err != nil {
			return h
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, maxHistoryBytes))
	if err != nil {
		return h
	}
	n := 0
	for l := range bytes.Lines(b) {
		n++
		var text string
		if json.Unmarshal(l, &text) == nil {
			h.put(text)
		}
	}
	if n > 2*maxHistory || len(b) == maxHistoryBytes {
		var all []byte
		for _, l := range h.lines {
			all = append(all, record(l)...)
		}
		_ = atomicfile.Write(file, all, atomicfile.Options{Private: true}) // tried again next time
	}
	return h
}

func (h *history) put(text string) {
	if i := slices.Index(h.lines, text); i >= 0 {
		h.lines = slices.Delete(h.lines, i, i+1)
	}
	h.lines = append(h.lines, text)
	if n := len(h.lines) - maxHistory; n > 0 {
		h.lines = slices.Delete(h.lines, 0, n)
	}
}

// add keeps text, unless it is blank or begins with a blank. A file that cannot
// be written keeps the history of this session out of it, and nothing else.
func (h *history) add(text string) {
	if strings.TrimSpace(text) == "" || strings.HasPrefix(text, " ") || len(text) > maxHistoryLine {
		return
	}
	last := len(h.lines) > 0 && h.lines[len(h.lines)-1] == text
	h.put(text)
	if h.file == "" || last {
		return
	}
	f, err := os.OpenFile(h.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_ = f.Chmod(0o600) // it may have come from elsewhere
	_, _ = f.Write(record(text))
	_ = f.Close()
}

func record(text string) []byte {
	b, _ := json.Marshal(text) // strings marshal
	return append(b, '\n')
}

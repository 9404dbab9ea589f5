package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantle-dev/cantle/permission/internal/shell"
	"github.com/cantle-dev/cantle/tool"
)

// move is what a command of a line puts in a place: a link to another one, or what
// lies there, links among it. What comes after it in the line finds that there.
type move struct {
	from, to string
	link     bool // what is done to it is done to what it is from
}

// maxMoves bounds what of one line is looked at.
const maxMoves = 256

// moves are those of one command.
func moves(c *shell.Command, of []touched) (out []move) {
	link := false
	switch c.Name() {
	case "ln", "link":
		link = true
	case "cp":
		link = slices.ContainsFunc(c.Words, func(w shell.Word) bool {
			return strings.HasPrefix(w.Text, "-") && (strings.HasPrefix(w.Text, "--l") || strings.HasPrefix(w.Text, "--s") || w.Text[1:] != "" && w.Text[1] != '-' && strings.ContainsAny(w.Text, "ls"))
		})
		if !slices.ContainsFunc(c.Words, func(w shell.Word) bool { return strings.HasPrefix(w.Text, "-") }) {
			return nil // it copies what links lead to
		}
	case "mv", "rsync":
	default:
		return nil
	}
	for _, f := range of {
		if f.op != tool.Read {
			continue
		}
		for _, t := range of {
			if t.op != tool.Write {
				continue
			}
			for _, from := range f.ways {
				for _, to := range t.ways {
					if from != to && len(out) < maxMoves {
						out = append(out, move{from, to, link})
					}
				}
			}
		}
	}
	return out
}

// through adds to what is touched where links lead that the line has put there.
func (st *state) through(of []touched, moved []move) {
	for i := range of {
		t := &of[i]
		for _, m := range moved {
			for _, w := range t.ways {
				if !within(m.to, w) {
					continue
				}
				rest := strings.TrimPrefix(w[len(m.to):], string(filepath.Separator))
				for _, name := range []string{rest, strings.TrimPrefix(rest, filepath.Base(m.from))} { // to is the name, or the folder that it is put in
					at := filepath.Join(m.from, name)
					real, _, ok := follow(st.g.fs, at, "")
					if !ok || len(t.ways) > maxMoves {
						continue
					}
					if m.link && !slices.Contains(t.ways, at) {
						t.ways = append(slices.Clip(t.ways), at)
					}
					if (m.link || real != at) && !slices.Contains(t.ways, real) {
						t.ways = append(slices.Clip(t.ways), real)
					}
				}
			}
		}
	}
}

package shell

import (
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// The tests and actions of find that only look, by how many words they take.
const (
	findAlone = ` -a -and -o -or -not ! ( ) , -true -false -print -print0 -ls -prune -quit -depth -d -xdev -mount -daystart -follow -empty -executable -readable -writable -nouser -nogroup -noleaf -ignore_readdir_race -warn -nowarn -help -version `
	findOne   = ` -name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -ctime -atime -mmin -cmin -amin -newer -anewer -cnewer -maxdepth -mindepth -perm -user -group -uid -gid -links -inum -samefile -lname -ilname -fstype -printf -context -used `
)

func (w *walker) find(at int) {
	rest := w.out.Commands[at].Words[1:]
	reading, start := true, []Word{}
	i := 0
	for ; i < len(rest) && (rest[i].Text == "-H" || rest[i].Text == "-L" || rest[i].Text == "-P"); i++ {
		continue
	}
	for ; i < len(rest); i++ {
		word := rest[i]
		if word.Known && !word.Glob && (strings.HasPrefix(word.Text, "-") || word.Text == "(" || word.Text == "!") {
			break
		}
		if word.Many || word.Prefix == "" && !word.Known {
			reading = false
		}
		start = append(start, word)
	}
	if len(start) == 0 {
		start = []Word{{Text: ".", Known: true}}
	}
	for _, s := range start {
		w.access(at, tool.Read, s, true)
	}
	for ; i < len(rest); i++ {
		word := rest[i]
		one := i + 1
		arg := Word{}
		if one < len(rest) {
			arg = rest[one]
		}
		name := word.Text
		switch {
		case !word.Known || word.Glob:
			reading = false
		case listed(findAlone, name):
		case listed(findOne, name) || strings.HasPrefix(name, "-newer"):
			if arg.Many {
				reading = false
			}
			i++
		case name == "-exec" || name == "-execdir" || name == "-ok" || name == "-okdir":
			end := one
			for end < len(rest) && rest[end].Text != ";" && (rest[end].Text != "+" || rest[end-1].Text != "{}") {
				end++
			}
			inner := make([]Word, 0, end-one)
			for _, word := range rest[one:end] {
				inner = append(inner, fillIn(word, "{}"))
			}
			dirs := w.dirs
			if name == "-execdir" || name == "-okdir" {
				w.dirs = always(nil)
			}
			w.words(at, false, inner, nil)
			w.dirs = dirs
			i = end
		case name == "-delete":
			reading = false
			removed := []Word{{Text: "rm", Known: true, Prefix: "rm"}, {Text: "-d", Known: true, Prefix: "-d"}}
			for _, s := range start {
				s.Known, s.Text = false, s.Text+"/…"
				removed = append(removed, s)
				w.access(at, tool.Write, Word{Text: strings.TrimSuffix(s.Text, "/…"), Known: !s.Many && s.Prefix != "" || s.Text == "./…", Start: s.Start, End: s.End}, true)
			}
			w.words(at, false, removed, nil)
		case name == "-fprint" || name == "-fprint0" || name == "-fls" || name == "-fprintf":
			reading = false
			w.access(at, tool.Write, arg, false)
			i++
			if name == "-fprintf" {
				i++
			}
		case name == "-files0-from":
			reading = false
			w.access(at, tool.Read, arg, false)
			i++
		default:
			reading = false
		}
	}
	w.reading(at, reading)
}

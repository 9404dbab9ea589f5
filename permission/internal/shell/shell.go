// Package shell says what a command line would do, before it runs: which
// programs, with which words, behind which wrappers, and what they would touch.
//
// The parser is not the shell. What is analysed is therefore not the text that
// came but the one that the parser's tree prints, parsed again until it no
// longer changes; that text is [Analysis.Text], and it is what must be run.
// Where the parser and bash could still read it differently, or where what runs
// is decided only when it runs, there is a [Reason], and no rule may allow it.
//
//	a, err := shell.Analyse("cd sub && git log | head -3", shell.Options{Dir: "/w", Home: "/home/u"})
//	if err != nil {
//		return ask(err) // not parsable or too large; a.Commands still serves deny rules
//	}
//	for _, c := range a.Commands {
//		fmt.Println(c.String(), c.ReadOnly, c.Accesses)
//	}
//
// A deny rule looks at every command. To allow, each command must be covered
// that is not Passes, each access with it, and Unknown must be empty. The
// package holds no policy of its own, reads no file and no environment, and is
// safe for concurrent use. It models bash 5 as `bash -c`, without aliases,
// extglob and history expansion.
package shell

import (
	"errors"
	"strings"

	"github.com/cantle-dev/cantle/tool"
)

// Options describe the world that the command line would run in. The zero value
// is one of which nothing is known.
type Options struct {
	Dir         string // the working directory, absolute; "" is unknown
	Home        string // what ~ and $HOME are; "" is unknown
	MaxBytes    int    // 0 is 64 KiB
	MaxDepth    int    // nesting of syntax, and of text within text; 0 is 100
	MaxCommands int    // 0 is 1,000
}

// The conditions under which nothing can be said for sure.
var (
	ErrParse = errors.New("not parsable")
	ErrLimit = errors.New("too large to analyse")
)

// Analysis is what a command line would do.
type Analysis struct {
	// Text is what must be run for the analysis to hold. It is the text as it
	// came where the parser may have misread it (then Unknown says so).
	Text     string
	Commands []Command
	Unknown  []Reason // not empty: no rule may allow this
}

// ReadOnly reports whether the whole is known to change nothing, to run nothing
// unseen and to connect to nothing. What it reads is in the accesses.
func (a *Analysis) ReadOnly() bool {
	for i := range a.Commands {
		if !a.Commands[i].ReadOnly {
			return false
		}
	}
	return len(a.Unknown) == 0 && len(a.Commands) > 0
}

// Reason says why something cannot be known, for the user to read.
type Reason struct {
	Kind       Kind
	Text       string // a phrase, as "the name of the program is computed"
	Start, End int    // bytes of Analysis.Text
}

// Kind sorts reasons.
type Kind string

// The kinds of reasons.
const (
	Misread  Kind = "misread"  // the shell may read the text differently, or a person would
	Computed Kind = "computed" // what runs is decided when it runs
	Redefine Kind = "redefine" // changes what later commands mean: a function, an alias, a trap, a setting of the shell
	Opaque   Kind = "opaque"   // a form that the analysis does not know
	Limit    Kind = "limit"    // over a limit
)

// Place is a set of bits that says where in the command line a command stands.
type Place uint16

// The places.
const (
	InPipe         Place = 1 << iota // one end of a pipe
	InSubstitution                   // $( ), backticks, <( ), >( )
	InFunction                       // the body of a function: runs when called
	InBackground                     // & or coproc
	InCondition                      // after && or ||, or in a branch or a loop: may not run, may run often
	InSubshell                       // ( )
	InText                           // text within a word, as of sh -c or eval
)

// Command is one simple command.
type Command struct {
	// Words are the program and its arguments, expanded as bash would as far as
	// can be known. Empty for an assignment or a redirect alone: such a command
	// is covered when its accesses are, and by no rule if it has assignments.
	Words     []Word
	Assigns   []Assign   // in front of the command, or by export, declare and their kind
	Redirects []Redirect // a compound command's are in a Command of their own, without words
	// Via are the programs that would run this one, outermost first: sudo, sh,
	// xargs, find … They are in Commands too, in front of it.
	Via []string
	// Transparent says that all of Via do no more than to run this command with
	// its words as they are. True when Via is empty.
	Transparent bool
	// Passes says that this command is itself a transparent wrapper: what it
	// runs is in Commands, and it needs no rule of its own.
	Passes bool
	// Doubt says that this command was found in another reading of the text than
	// the parser's. It counts for deny and ask rules alone.
	Doubt bool
	// ReadOnly says that the command, its redirects included, changes nothing,
	// runs nothing that is not in Commands, and connects to nothing.
	ReadOnly bool
	// Accesses are what the command's operands, flags and redirects touch. The
	// list is complete only for what ReadOnly or Complete says.
	Accesses []Access
	// Complete says that all that the command touches is in Accesses, though it
	// may write: cp, mv, rm, mkdir, tee …
	Complete bool
	// Network says that the command is one that cannot work without the network:
	// curl, git fetch, npm install … False also where that is not known.
	Network bool
	// Code says that the command is given a program in a language that is not
	// looked into, by its words or by what it reads: python -c, perl -e, a script
	// for sed that is not understood, vim -c. It may touch anything: no denial of
	// a path can be held to. False for a program in a file.
	Code bool
	// Dirs are the directories that it may run in, more than one after a cd that
	// may fail; empty when unknown.
	Dirs       []string
	Place      Place
	Start, End int // bytes of Analysis.Text; of the whole word for a command in text
}

// Name is the program's base name, "" when there is none or it is computed.
func (c *Command) Name() string {
	if len(c.Words) == 0 || !c.Words[0].Known || c.Words[0].Glob {
		return ""
	}
	name := c.Words[0].Text
	return name[strings.LastIndexByte(name, '/')+1:]
}

// String is the words with one blank between.
func (c *Command) String() string {
	text := make([]string, len(c.Words))
	for i, w := range c.Words {
		text[i] = w.Text
	}
	return strings.Join(text, " ")
}

// Word is a word after brace expansion, tilde expansion and quote removal.
type Word struct {
	// Text is what the program gets if Known, or else as it is written, up to
	// quote removal: "$x/y".
	Text  string
	Known bool
	// Glob says that Text is a pattern that bash replaces by the names of files.
	// In it \ stands before a character that is no pattern.
	Glob bool
	// Many says that the word may become several words or none: unquoted
	// expansions, "$@", what xargs adds.
	Many bool
	// Prefix is what the word begins with in any case. Text itself if Known and
	// not Glob.
	Prefix     string
	Start, End int

	stream  bool // a process substitution alone
	integer bool // a number, or nothing
	commit  bool // begins with the name of a commit, by a substitution
}

// Assign is a variable that is set. Harmless says that no program known runs
// other code, reads other files or connects elsewhere for it: LANG, TZ, NO_COLOR …
type Assign struct {
	Name       string
	Value      Word
	Harmless   bool
	Start, End int
}

// Redirect is one redirect.
type Redirect struct {
	Op     string // as written: > >> >| < <> &> &>> >& <& << <<- <<<
	FD     string // as written: "2", "{name}", or ""
	Target Word   // a path or a descriptor; the text of a here-document
	Write  bool   // opens a file for writing; not /dev/null, the standard streams or a descriptor
	Read   bool   // opens a file for reading
}

// Access is something that a command touches.
type Access struct {
	Op tool.Op
	// Target is a path, absolute if the directory is known, and then not cleaned
	// (a/../b may lead elsewhere than b); the host with its port of a connection,
	// or what is written in its place; or the text of what is executed.
	Target string
	Known  bool // false: Target is what is written
	Glob   bool // Target is a pattern, as in Word
	// Tree says that what is below Target is touched too.
	Tree       bool
	Start, End int
}

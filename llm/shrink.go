package llm

import (
	"cmp"
	"fmt"
	"slices"
)

// ShrinkOptions configure [Shrink].
type ShrinkOptions struct {
	// Tokens compares sizes in tokens, by estimate, and not in bytes: an image of
	// many bytes takes few. It is for a window that is too small.
	Tokens bool
	// Least is how many bytes, or tokens, are to go at least; 0 is half of what
	// could.
	Least int
	// Media leaves results alone and takes all images and other blobs, whatever
	// their size: what a provider that rejects one calls for.
	Media bool
	// Keep is how many messages at the end are not touched; 0 is none. What
	// a provider rejected may be in the last.
	Keep int
	// Skip leaves out what it says, such as results that are pinned.
	Skip func(Cut) bool
	// Min is the size in bytes of the smallest result that is worth it; default
	// 1024.
	Min int
}

// Cut is a piece that [Shrink] takes out of the messages.
type Cut struct {
	Message int    // its index
	CallID  string // of the result; "" is the blobs of the message itself
	Bytes   int    // what goes
	Tokens  int    // the same, by estimate
	What    string // "image/png", "result of Bash"
}

// Stub is the text in the place of c.
func (c Cut) Stub() string {
	return fmt.Sprintf("[%s, %d bytes: taken out, since the request was too large or it was refused. Read it again if it is needed.]", c.What, c.Bytes)
}

// Shrink says what to take out of a history that a provider refuses as too large
// ([KindTooLarge], [KindContextOverflow]) or because of an image: its media and
// tool results, the largest first, until enough goes. It changes nothing: who
// keeps the history records the cuts and shows a [Cut.Stub] in the place of
// each. The order is that of the messages. An empty answer means that there is
// nothing left to take out.
func Shrink(msgs []Message, o ShrinkOptions) []Cut {
	if o.Min <= 0 {
		o.Min = 1024
	}
	var all []Cut
	sum := 0
	size := func(c Cut) int {
		if o.Tokens {
			return c.Tokens
		}
		return c.Bytes
	}
	add := func(c Cut, least int) {
		if c.Bytes >= least && c.What != "" && (o.Skip == nil || !o.Skip(c)) {
			all = append(all, c)
			sum += size(c)
		}
	}
	for i, m := range msgs[:max(0, len(msgs)-o.Keep)] {
		own := Cut{Message: i}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case Blob:
				own.Bytes, own.What = own.Bytes+len(p.Data)+len(p.URL), cmp.Or(p.MIME, "blob")
				own.Tokens += Parts{p}.estimate()
			case ToolResult:
				c, media := Cut{Message: i, CallID: p.CallID, What: "result of " + p.Name, Tokens: p.Parts.estimate()}, false
				for _, p := range p.Parts {
					switch p := p.(type) {
					case Text:
						c.Bytes += len(p.Text)
					case Blob:
						c.Bytes, media = c.Bytes+len(p.Data)+len(p.URL), true
					}
				}
				if !o.Media || media {
					add(c, map[bool]int{true: 0, false: o.Min}[media])
				}
			}
		}
		add(own, 0)
	}
	if o.Media {
		return all
	}
	want := o.Least
	if want <= 0 {
		want = (sum + 1) / 2
	}
	slices.SortStableFunc(all, func(a, b Cut) int { return cmp.Compare(size(b), size(a)) })
	for i, c := range all {
		if want -= size(c); want <= 0 {
			all = all[:i+1]
			break
		}
	}
	slices.SortStableFunc(all, func(a, b Cut) int { return cmp.Compare(a.Message, b.Message) })
	return all
}

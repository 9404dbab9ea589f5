package builtin

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	readability "codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds of what is made Markdown of. Time grows with the number of elements
// and, in lists and quotations, with the product of depth and length.
const (
	htmlBytes  = 1 << 20 // of what is left after pruning
	htmlTags   = 50_000
	htmlDepth  = 128
	htmlNested = 12   // lists, quotations and tables within each other
	htmlSpans  = 200  // cells that others stretch over
	htmlAttr   = 4096 // bytes of an attribute
)

// rendered is the text of an HTML page.
type rendered struct {
	text  string
	notes []string
	cut   bool
}

// markdown makes Markdown of an HTML page: of its main content, if that can be
// told from the rest, or else of all of it. A page that is too broken for that
// gives its plain text.
func markdown(ctx context.Context, src string, at *url.URL) (rendered, error) {
	p := pruner{base: at, spans: htmlSpans}
	p.prune(src)
	out := rendered{cut: p.cut}
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	var err error
	out.text, out.notes, err = convert(ctx, p.out.String(), at)
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	if err != nil {
		out.text, out.notes = untagged(p.out.String()), []string{"The page is malformed: this is its plain text."}
	}
	if title := strings.Join(strings.Fields(p.title.String()), " "); title != "" && !strings.Contains(cut(out.text, 1000), title) {
		out.text = "# " + title + "\n\n" + out.text
	}
	return out, nil
}

// convert turns pruned HTML into Markdown. A page that the libraries do not
// survive is an error.
func convert(ctx context.Context, src string, at *url.URL) (text string, notes []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the page cannot be converted: %v", r)
		}
	}()
	doc, err := html.ParseWithOptions(strings.NewReader(src), html.ParseOptionEnableScripting(false))
	if err != nil {
		return "", nil, err
	}
	node := doc
	if ctx.Err() == nil && readability.CheckDocument(doc) {
		parser := readability.NewParser()
		parser.DisableJSONLD, parser.KeepClasses = true, true // classes say what language code is in
		a, err := parser.ParseDocument(doc, at)
		if err == nil && a.Node != nil {
			// Where most of a page is left out, it is no article.
			if all, main := textLen(doc), textLen(a.Node); main >= 500 && main >= all/5 {
				node = a.Node
				if main < all {
					notes = append(notes, "This is the main content of the page; menus and the like are left out.")
				}
			}
		}
	}
	if ctx.Err() != nil {
		return "", nil, context.Cause(ctx)
	}
	conv := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	b, err := conv.ConvertNode(node, converter.WithContext(ctx))
	return string(b), notes, err
}

// textLen counts the characters of a tree's text, less blanks.
func textLen(n *html.Node) int {
	total := 0
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			for f := range strings.FieldsSeq(d.Data) {
				total += utf8.RuneCountInString(f)
			}
		}
	}
	return total
}

// untagged is the text of pruned HTML.
func untagged(src string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(src))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			b.WriteString(html.UnescapeString(string(z.Raw())))
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			if a := atom.Lookup(name); a == atom.Br || blocks[a] {
				b.WriteByte('\n')
			}
		}
	}
}

// pruner copies HTML up to what can be converted in a bounded time: without
// scripts, styles and pictures that say nothing, with links made absolute, and
// with what nests too deep made flat.
type pruner struct {
	base  *url.URL
	out   strings.Builder
	title strings.Builder
	open  []opened
	tags  int
	deep  int // of open: lists and the like
	spans int // cells that may be made of others yet
	cut   bool
}

type opened struct {
	name atom.Atom
	raw  string // the name, where it is no atom
}

// dropped are elements that go with all that is in them.
var dropped = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Svg: true, atom.Iframe: true, atom.Object: true,
	atom.Canvas: true, atom.Noembed: true, atom.Noframes: true, atom.Audio: true, atom.Video: true, atom.Select: true, atom.Textarea: true,
}

var void = map[atom.Atom]bool{
	atom.Area: true, atom.Base: true, atom.Br: true, atom.Col: true, atom.Embed: true, atom.Hr: true, atom.Img: true, atom.Input: true,
	atom.Link: true, atom.Meta: true, atom.Source: true, atom.Track: true, atom.Wbr: true,
}

// nesting are those whose depth multiplies the work.
var nesting = map[atom.Atom]bool{atom.Ul: true, atom.Ol: true, atom.Dl: true, atom.Blockquote: true, atom.Table: true, atom.Menu: true, atom.Dir: true}

var blocks = map[atom.Atom]bool{
	atom.P: true, atom.Div: true, atom.Section: true, atom.Article: true, atom.Ul: true, atom.Ol: true, atom.Li: true, atom.Dl: true, atom.Dt: true,
	atom.Dd: true, atom.Table: true, atom.Tr: true, atom.Td: true, atom.Th: true, atom.Blockquote: true, atom.Pre: true, atom.H1: true, atom.H2: true,
	atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true, atom.Hr: true, atom.Header: true, atom.Footer: true, atom.Main: true, atom.Nav: true,
	atom.Aside: true, atom.Figure: true, atom.Form: true, atom.Fieldset: true, atom.Details: true, atom.Address: true, atom.Menu: true, atom.Title: true,
}

// closes says which open elements the start of an element ends, and which it
// does not look beyond.
var closes = map[atom.Atom]struct{ these, within []atom.Atom }{
	atom.Li:     {[]atom.Atom{atom.Li}, []atom.Atom{atom.Ul, atom.Ol, atom.Menu, atom.Dir}},
	atom.Dt:     {[]atom.Atom{atom.Dt, atom.Dd}, []atom.Atom{atom.Dl}},
	atom.Dd:     {[]atom.Atom{atom.Dt, atom.Dd}, []atom.Atom{atom.Dl}},
	atom.Td:     {[]atom.Atom{atom.Td, atom.Th}, []atom.Atom{atom.Tr, atom.Table}},
	atom.Th:     {[]atom.Atom{atom.Td, atom.Th}, []atom.Atom{atom.Tr, atom.Table}},
	atom.Tr:     {[]atom.Atom{atom.Tr}, []atom.Atom{atom.Table}},
	atom.Tbody:  {[]atom.Atom{atom.Thead, atom.Tbody, atom.Tfoot}, []atom.Atom{atom.Table}},
	atom.Tfoot:  {[]atom.Atom{atom.Thead, atom.Tbody, atom.Tfoot}, []atom.Atom{atom.Table}},
	atom.Option: {[]atom.Atom{atom.Option}, []atom.Atom{atom.Select}},
}

func (p *pruner) prune(src string) {
	z := html.NewTokenizer(strings.NewReader(src))
	drop, depth := atom.Atom(0), 0 // what is being left out, and how often it is open
	inTitle := false
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return
		}
		if p.out.Len() >= htmlBytes || p.tags >= htmlTags {
			p.cut = true
			return
		}
		switch kind {
		case html.TextToken:
			raw := z.Raw()
			switch {
			case drop != 0:
			case inTitle && p.title.Len() < 1000:
				p.title.WriteString(cut(html.UnescapeString(string(raw)), 1000))
			case !inTitle:
				p.text(string(raw))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			raw, more := z.TagName()
			name := opened{atom.Lookup(raw), ""}
			if name.name == 0 {
				name.raw = cut(string(raw), 40)
			}
			switch {
			case drop != 0:
				if name.name == drop && kind == html.StartTagToken {
					depth++
				}
			case dropped[name.name]:
				if kind == html.StartTagToken || name.name != atom.Svg {
					drop, depth = name.name, 1
				}
			case name.name == atom.Title:
				inTitle = p.title.Len() == 0
			default:
				p.start(z, name, more)
			}
		case html.EndTagToken:
			raw, _ := z.TagName()
			name := opened{atom.Lookup(raw), ""}
			if name.name == 0 {
				name.raw = cut(string(raw), 40)
			}
			switch {
			case drop != 0:
				if name.name == drop {
					if depth--; depth == 0 {
						drop = 0
					}
				}
			case name.name == atom.Title:
				inTitle = false
			default:
				p.end(name)
			}
		}
	}
}

// text copies text, up to the bound.
func (p *pruner) text(raw string) {
	if room := htmlBytes - p.out.Len(); len(raw) > room {
		raw, p.cut = cut(raw, room), true
	}
	p.out.WriteString(raw)
}

func (p *pruner) start(z *html.Tokenizer, name opened, more bool) {
	if c, ok := closes[name.name]; ok {
		p.implied(c.these, c.within)
	}
	if n := len(p.open); n > 0 && p.open[n-1].name == atom.P && blocks[name.name] {
		p.pop(n - 1)
	}
	if !void[name.name] {
		if len(p.open) >= htmlDepth || nesting[name.name] && p.deep >= htmlNested {
			p.out.WriteByte(' ')
			return
		}
	}
	attrs := p.attributes(z, name.name, more)
	if name.name == atom.Base {
		return
	}
	if name.name == atom.A && !strings.Contains(attrs, ` href="`) {
		return // a link to nowhere
	}
	if name.name == atom.Img && !strings.Contains(attrs, ` alt="`) {
		return
	}
	p.tags++
	if !void[name.name] {
		p.open = append(p.open, name)
		if nesting[name.name] {
			p.deep++
		}
	}
	p.out.WriteString("<" + name.tag() + attrs + ">")
}

func (o opened) tag() string {
	if o.name != 0 {
		return o.name.String()
	}
	return o.raw
}

// wanted are the attributes that are of use to anyone after this.
var wanted = map[string]bool{
	"class": true, "id": true, "href": true, "src": true, "alt": true, "title": true, "role": true, "itemprop": true, "hidden": true, "style": true,
	"aria-hidden": true, "start": true, "colspan": true, "rowspan": true, "property": true, "name": true, "content": true, "lang": true, "rel": true,
}

func (p *pruner) attributes(z *html.Tokenizer, name atom.Atom, more bool) string {
	var b strings.Builder
	for n := 0; more && n < 200; n++ {
		var k, v []byte
		k, v, more = z.TagAttr()
		key, val := string(k), string(v)
		if !wanted[key] || len(val) > htmlAttr || strings.Contains(b.String(), " "+key+`="`) {
			continue
		}
		switch key {
		case "href", "src":
			u, ok := p.absolute(val)
			if !ok {
				continue
			}
			if val = u.String(); name == atom.Base && key == "href" {
				p.base = u
			}
		case "alt":
			if strings.TrimSpace(val) == "" {
				continue
			}
		case "colspan", "rowspan": // each becomes as many cells
			n, err := strconv.Atoi(val)
			if err != nil || n < 2 || n > p.spans {
				continue
			}
			p.spans -= n
		}
		fmt.Fprintf(&b, ` %s="%s"`, key, html.EscapeString(val))
	}
	return b.String()
}

// absolute is a link that leads somewhere outside of its own page.
func (p *pruner) absolute(ref string) (*url.URL, bool) {
	ref = strings.TrimSpace(ref)
	u, err := url.Parse(ref)
	if err != nil || ref == "" || strings.HasPrefix(ref, "#") {
		return nil, false
	}
	switch u = p.base.ResolveReference(u); u.Scheme {
	case "http", "https", "mailto", "ftp":
		return u, true
	}
	return nil, false
}

// implied ends the innermost of these elements that is open.
func (p *pruner) implied(these, within []atom.Atom) {
	for i := len(p.open) - 1; i >= 0; i-- {
		switch {
		case slices.Contains(these, p.open[i].name):
			p.pop(i)
			return
		case slices.Contains(within, p.open[i].name):
			return
		}
	}
}

func (p *pruner) end(name opened) {
	for i := len(p.open) - 1; i >= 0; i-- {
		if p.open[i] == name {
			p.pop(i)
			return
		}
	}
}

// pop ends the elements from the i-th on.
func (p *pruner) pop(i int) {
	for n := len(p.open) - 1; n >= i; n-- {
		if nesting[p.open[n].name] {
			p.deep--
		}
		p.out.WriteString("</" + p.open[n].tag() + ">")
	}
	p.open = p.open[:i]
}

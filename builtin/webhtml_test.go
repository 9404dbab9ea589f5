package builtin_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cantle-dev/cantle/builtin"
)

const article = `<!doctype html><html><head><title> The  Saddle </title><style>p{color:red}</style><script>var x = "<p>no</p>";</script></head>
<body><nav><ul><li><a href="/">Home</a></li><li><a href="/about">About us</a></li></ul></nav>
<main><article><h1>The Saddle</h1>
%s
<h2 id="parts">Parts</h2><table><thead><tr><th>Part</th><th>Place</th></tr></thead><tbody><tr><td>cantle</td><td>back</td></tr></tbody></table>
<pre><code class="language-go">func main() {
	ride()
}
</code></pre>
<ul><li>one<ul><li>in <a href="../deep?x=1&amp;y=2#z">it</a></li></ul></li><li>two</li></ul>
<p><img src="data:image/png;base64,AAAA"><img src="/pic.png" alt="A horse"><a href="javascript:alert(1)">click</a></p>
</article></main><footer><p>Copyright</p></footer></body></html>`

func TestHTMLBecomesMarkdown(t *testing.T) {
	paragraph := "<p>The raised back of a saddle is its cantle, and it keeps the rider seated, whatever the horse does, which may be a lot, on some days.</p>\n"
	s := newSite(t, builtin.WebOptions{}, body("text/html; charset=utf-8", fmt.Sprintf(article, strings.Repeat(paragraph, 8))))
	got := s.fetch(t, "/a/b/c")
	md := inside(t, got)
	for _, want := range []string{
		"# The Saddle", "The raised back of a saddle is its cantle,", "## Parts", "| cantle | back", "```go\nfunc main() {\n\tride()\n}\n```",
		"- one", "  - in [it](" + s.URL + "/a/deep?x=1&y=2#z)", "- two", "![A horse](" + s.URL + "/pic.png)", "click",
	} {
		if !strings.Contains(md, want) {
			t.Errorf("no %q in\n%s", want, md)
		}
	}
	for _, not := range []string{"color:red", "var x", "javascript:", "data:", "About us"} {
		if strings.Contains(md, not) {
			t.Errorf("%q in\n%s", not, md)
		}
	}
	if !strings.Contains(got, "menus and the like are left out") {
		t.Errorf("%.300s", got)
	}
}

// A page that is no article, such as an index, is given whole.
func TestIndexPagesAreWhole(t *testing.T) {
	var b strings.Builder
	b.WriteString("<title>List</title><base href='/sub/'>")
	for i := range 200 {
		fmt.Fprintf(&b, "<div class=item><a href=p%d>Item %d</a></div>", i, i)
	}
	s := newSite(t, builtin.WebOptions{MaxChars: -1}, body("text/html", b.String()))
	md := inside(t, s.fetch(t, ""))
	for _, want := range []string{"# List\n", "[Item 0](" + s.URL + "/sub/p0)", "[Item 199](" + s.URL + "/sub/p199)"} {
		if !strings.Contains(md, want) {
			t.Errorf("no %q in\n%.1000s", want, md)
		}
	}
}

func TestPrune(t *testing.T) {
	at, err := url.Parse("https://example.com/a/")
	if err != nil {
		t.Fatal(err)
	}
	for src, want := range map[string]string{
		"<p>a<p>b<p>c":                                   "<p>a</p><p>b</p><p>c",
		"<ul><li>a<li>b<ul><li>c</ul><li>d</ul>":         "<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>",
		"<table><tr><td>a<td>b<tr><td>c</table>":         "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>",
		"<dl><dt>a<dd>b<dt>c</dl>":                       "<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>",
		"</p></div>a":                                    "a",
		"<b><i>a</b>b</i>":                               "<b><i>a</i></b>b",
		"a<script>b</script>c<style>d</style><svg/>e":    "ace",
		"a<svg><path><svg></svg></svg>b":                 "ab",
		"a<noscript><p>b</noscript>c":                    "ac",
		"a<!-- b -->c":                                   "ac",
		`<a href=x onclick="y()">z</a>`:                  `<a href="https://example.com/a/x">z</a>`,
		`<a href="javascript:x">z</a>`:                   `z`,
		`<a href="#top">z</a>`:                           `z`,
		`<a href="a" href="b">z</a>`:                     `<a href="https://example.com/a/a">z</a>`,
		`<p title="&quot;&gt;<script>">a`:                `<p title="&#34;&gt;&lt;script&gt;">a`,
		`<img src=a><img src=b alt=""><img src=c alt=d>`: `<img src="https://example.com/a/c" alt="d">`,
		`<td colspan=1000 rowspan=2>a`:                   `<td rowspan="2">a`,
		`<base href="https://b.example/"><a href=x>y`:    `<a href="https://b.example/x">y`,
		`<base href="javascript:x"><a href=x>y`:          `<a href="https://example.com/a/x">y`,
		"a &lt;b&gt; c":                                  "a &lt;b&gt; c",
		"<my-tag>a</my-tag>":                             "<my-tag>a</my-tag>",
	} {
		if got := builtin.PruneForTest(src, at); got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
}

// Whatever is in a page, it is converted in a bounded time, and what it says
// is not lost where it only nests too deep.
func TestHostileHTML(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a few seconds")
	}
	const n = 2_000_000
	rep := func(s string) string { return strings.Repeat(s, n/len(s)) }
	var formats, attrs strings.Builder
	for i := range n / 20 {
		fmt.Fprintf(&formats, "<b id=%d>x</p><p>", i)
		fmt.Fprintf(&attrs, " a%d=1", i)
	}
	pages := map[string]string{
		"100k nested divs":     strings.Repeat("<div>", 100_000) + "needle",
		"100k nested, text":    strings.Repeat("<div>a", 100_000) + "needle",
		"nested lists":         strings.Repeat(strings.Repeat("<ul><li>a", 200)+strings.Repeat("</ul>", 200), n/3000),
		"nested quotes":        strings.Repeat("<blockquote>a", n/13),
		"nested tables":        rep("<table><tr><td>a"),
		"unclosed bold":        rep("<p><b>a"),
		"formats":              formats.String(),
		"attributes":           "<div" + attrs.String() + ">needle",
		"one long attribute":   "<div title='" + strings.Repeat("x", n-100) + "'>needle",
		"a wide row":           "<table><tr>" + rep("<td>a"),
		"spans of cells":       "<table>" + rep("<tr><td colspan=99 rowspan=99>a"),
		"list":                 "<ul>" + rep("<li>a"),
		"breaks":               rep("a<br>"),
		"blanks":               "<p>" + strings.Repeat(" ", n-100) + "needle",
		"stars":                "<p>" + strings.Repeat("*", n-100),
		"ticks":                "<pre>" + strings.Repeat("`", n-100),
		"headings":             rep("<h2>abc</h2>"),
		"links":                rep("<a href=x>y</a> "),
		"never ends":           "needle<script>" + rep("x"),
		"comments":             "needle" + rep("<!-"),
		"entities":             rep("&amp;"),
		"less than":            rep("<"),
		"title":                "<title>" + rep("x ") + "</title>needle",
		"ends":                 rep("</p>") + "needle",
		"svg":                  rep("<svg>") + rep("</svg>") + "needle",
		"select in table":      rep("<table><select>"),
		"templates in framese": rep("<template><frameset>"),
		"math":                 rep("<math><mi>"),
	}
	var page string
	s := newSite(t, builtin.WebOptions{}, func(w http.ResponseWriter, r *http.Request) { body("text/html", page)(w, r) })
	n2 := 0
	for name, p := range pages {
		page = p
		n2++
		start := time.Now()
		got := s.fetch(t, fmt.Sprint("/", n2))
		took := time.Since(start)
		if strings.HasSuffix(p, "needle") && len(p) <= 1<<20 && !strings.Contains(got, "needle") && !strings.Contains(got, "Go on with offset") {
			t.Errorf("%s: the text is lost: %.300q", name, got)
		}
		if took > 30*time.Second {
			t.Errorf("%s took %s", name, took)
		}
		t.Logf("%-20s %5d ms, %d bytes", name, took.Milliseconds(), len(got))
	}
}

package builtin

import (
	"net/url"

	"github.com/cantle-dev/cantle/internal/x/fetch"
	"github.com/cantle-dev/cantle/tool"
)

// WebForTest makes WebFetch and WebSearch whose clients are changed before they
// are made, as to where they look up names and what they connect to.
func WebForTest(o Options, change func(*fetch.Options)) (webFetch, webSearch tool.Tool) {
	page, search := o.Web.fetching(o.Web.AllowPrivate), o.Web.fetching(true)
	change(&page)
	change(&search)
	return newWebFetch(o, fetch.New(page)), newWebSearch(o, "", fetch.New(search))
}

// PagesForTest is the memory of pages.
type PagesForTest struct{ *pages }

func NewPagesForTest() PagesForTest { return PagesForTest{newPages()} }

func (c PagesForTest) Put(url, text string) { c.put(url, &webPage{text: text}) }
func (c PagesForTest) Has(url string) bool  { _, ok := c.get(url); return ok }

func (c PagesForTest) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.by)
}

func (c PagesForTest) Size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

// PruneForTest is what is left of a page before it is parsed.
func PruneForTest(src string, at *url.URL) string {
	p := pruner{base: at, spans: htmlSpans}
	p.prune(src)
	return p.out.String()
}

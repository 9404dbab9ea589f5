package builtin

import (
	"container/list"
	"sync"
	"time"
)

// How long and how much of the web is remembered.
const (
	pagesAge   = 15 * time.Minute
	pagesBytes = 16 << 20
	pagesCount = 100
)

// pages remembers the text of pages by their URLs. A page that is too old is
// let go when its time has come, whether it is asked for or not.
type pages struct {
	mu    sync.Mutex
	by    map[string]*list.Element
	order *list.List // of *kept, the oldest first
	size  int
	timer *time.Timer
}

type kept struct {
	url  string
	page *webPage
	at   time.Time
	size int
}

func newPages() *pages { return &pages{by: map[string]*list.Element{}, order: list.New()} }

func (c *pages) get(url string) (*webPage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.by[url]
	if !ok || time.Since(e.Value.(*kept).at) >= pagesAge {
		return nil, false
	}
	return e.Value.(*kept).page, true
}

func (c *pages) put(url string, p *webPage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.by[url]; ok {
		c.drop(e)
	}
	k := &kept{url: url, page: p, at: time.Now(), size: len(url) + len(p.text) + 1<<10}
	c.by[url] = c.order.PushBack(k)
	c.size += k.size
	for c.size > pagesBytes || c.order.Len() > pagesCount {
		c.drop(c.order.Front())
	}
	if c.timer == nil {
		c.timer = time.AfterFunc(pagesAge, c.sweep)
	}
}

func (c *pages) drop(e *list.Element) {
	k := c.order.Remove(e).(*kept)
	delete(c.by, k.url)
	c.size -= k.size
}

// sweep lets go of what is too old, and comes back when the next page is.
func (c *pages) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = nil
	for e := c.order.Front(); e != nil; e = c.order.Front() {
		if left := pagesAge - time.Since(e.Value.(*kept).at); left > 0 {
			c.timer = time.AfterFunc(left, c.sweep)
			return
		}
		c.drop(e)
	}
}

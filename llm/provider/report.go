package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cantle-dev/cantle/internal/x/atomicfile"
	"github.com/cantle-dev/cantle/llm"
)

// Report is what a provider says of a model. What it does not say is 0 or nil.
type Report struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Context is the window that the model is served with, in tokens. Max is
	// the one that it was made for, where a local server can serve less.
	Context  int        `json:"context,omitempty"`
	Max      int        `json:"max,omitempty"`
	Output   int        `json:"output,omitempty"`
	Price    *llm.Price `json:"price,omitempty"`
	Images   *bool      `json:"images,omitempty"`
	Tools    *bool      `json:"tools,omitempty"`
	Thinking *bool      `json:"thinking,omitempty"`
}

// Listing is a provider's list of models.
type Listing struct {
	Version  int       `json:"version"`
	Provider string    `json:"provider"`
	BaseURL  string    `json:"baseUrl"`
	Time     time.Time `json:"time"` // when it was asked; the caller sets it
	Models   []Report  `json:"models"`
	// More says that the provider has more models: [MaxModels] are kept.
	More bool `json:"more,omitempty"`
}

// MaxModels is how many models of a list are kept, the first ones. The longest
// lists that are known have some hundreds.
const MaxModels = 10_000

// maxID is the most bytes of a model's id or name.
const maxID = 512

// proper reports whether a text may be the id of a model: it is shown, typed
// and sent, so that nothing in it may be invisible.
func proper(id string) bool {
	return id != "" && len(id) <= maxID && utf8.ValidString(id) && !strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsGraphic(r) })
}

// bound drops what is no model and what is too much.
func (l *Listing) bound() {
	l.Models = slices.DeleteFunc(l.Models, func(r Report) bool { return !proper(r.ID) })
	for i, r := range l.Models {
		if r.Name != "" && !proper(r.Name) {
			l.Models[i].Name = ""
		}
	}
	if len(l.Models) > MaxModels {
		l.Models, l.More = slices.Clip(l.Models[:MaxModels]), true
	}
}

// listingVersion is of the form of a kept listing.
const listingVersion = 1

// Cache keeps listings in a folder, a file a provider. It is safe for
// concurrent use, by several processes too.
type Cache struct {
	Dir string

	mu     sync.Mutex
	loaded map[string]*indexed
}

// indexed is a listing with its models by their ids. It is not changed.
type indexed struct {
	baseURL string
	models  map[string]*Report
}

func (c *Cache) path(provider string) string {
	return filepath.Join(c.Dir, url.PathEscape(provider)+".json")
}

// Save keeps a listing in the place of an earlier one of the same provider.
func (c *Cache) Save(l *Listing) error {
	l.Version = listingVersion
	text, err := json.MarshalIndent(l, "", " ")
	if err == nil {
		err = os.MkdirAll(c.Dir, 0o700)
	}
	if err == nil {
		err = atomicfile.Write(c.path(l.Provider), append(text, '\n'), atomicfile.Options{})
	}
	if err != nil {
		return fmt.Errorf("provider: keeping the models of %s: %w", l.Provider, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.loaded, l.Provider)
	return nil
}

// maxListing bounds a listing: OpenRouter's has some 1 MB.
const maxListing = 32 << 20

// Load returns the listing that is kept of a provider. That there is none is
// [fs.ErrNotExist].
func (c *Cache) Load(provider string) (*Listing, error) {
	path := c.path(provider)
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("provider: %w", err)
	}
	var l Listing
	var text []byte
	if info.Size() > maxListing || !info.Mode().IsRegular() {
		err = errors.New("not a list of models")
	} else if text, err = os.ReadFile(path); err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err == nil && l.Version != listingVersion {
		err = fmt.Errorf("version %d is not %d", l.Version, listingVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("provider: %s: %w: remove it, or ask the provider again", path, err)
	}
	l.bound() // it may have been written by hand, or by an older version
	return &l, nil
}

// Reported is for [Options.Reported]. A listing of another address does not
// count, nor one that cannot be read: [Cache.Load] says why.
func (c *Cache) Reported(provider, baseURL, model string) (Report, bool) {
	c.mu.Lock()
	l, ok := c.loaded[provider]
	if !ok {
		if listing, err := c.Load(provider); err == nil {
			l = &indexed{listing.BaseURL, make(map[string]*Report, len(listing.Models))}
			for i := range slices.Backward(listing.Models) { // of two with an id the first counts
				l.models[listing.Models[i].ID] = &listing.Models[i]
			}
		}
		if c.loaded == nil {
			c.loaded = map[string]*indexed{}
		}
		c.loaded[provider] = l // nil: there is none to ask for again
	}
	c.mu.Unlock()
	if l == nil || l.baseURL != baseURL {
		return Report{}, false
	}
	r, ok := l.models[model]
	if !ok {
		return Report{}, false
	}
	return *r, true
}

package catalog

// From says where a fact about a model is from.
type From string

// The sources of a fact, the first over the later.
const (
	FromSettings From = "settings" // the user's own
	FromProvider From = "provider" // what the provider's list of models said
	FromCatalog  From = "catalog"
	FromDefault  From = "assumed" // nothing is known: a cautious guess
)

// Window is the context window to go by: the user's, then the provider's, then
// the catalog's, each if it is not 0; then [UnknownLocal] or [UnknownHosted].
func Window(settings, reported, known int, local bool) (int, From) {
	switch {
	case settings > 0:
		return settings, FromSettings
	case reported > 0:
		return reported, FromProvider
	case known > 0:
		return known, FromCatalog
	case local:
		return UnknownLocal, FromDefault
	}
	return UnknownHosted, FromDefault
}

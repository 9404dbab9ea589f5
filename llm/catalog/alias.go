package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Aliases are names of the user's own for models: an alias stands for
// a "provider:model" or for another alias. The caller must not change it while
// it is in use.
type Aliases map[string]string

// maxAliases is how many aliases may stand for one another: more is a mistake.
const maxAliases = 10

// Resolve returns what name stands for in the end; a name that is no alias
// stands for itself. Aliases that lead back to themselves, or through more
// than ten others, are an error that names the way.
func (a Aliases) Resolve(name string) (string, error) {
	way := []string{name}
	for {
		next, ok := a[name]
		if !ok {
			return name, nil
		}
		next = strings.TrimSpace(next)
		if next == "" {
			return "", fmt.Errorf("catalog: the alias %q stands for nothing", name)
		}
		again := slices.Contains(way, next)
		way = append(way, next)
		switch {
		case again && next == name:
			// "sonnet" may stand for itself: it hides an outer alias.
			return name, nil
		case again:
			return "", fmt.Errorf("catalog: the aliases go round in a circle: %s", strings.Join(way, " → "))
		case len(way) > maxAliases+1:
			return "", fmt.Errorf("catalog: more than %d aliases in a row: %s", maxAliases, strings.Join(way, " → "))
		}
		name = next
	}
}

// Names lists the aliases in order.
func (a Aliases) Names() []string { return slices.Sorted(maps.Keys(a)) }

// ParseAliases reads "a=provider:model,b=a", the form of a variable of the
// environment. Entries that are not of that form are left out and returned.
func ParseAliases(s string) (a Aliases, malformed []string) {
	a = Aliases{}
	for entry := range strings.SplitSeq(s, ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		name, ref, ok := strings.Cut(entry, "=")
		name, ref = strings.TrimSpace(name), strings.TrimSpace(ref)
		if !ok || name == "" || ref == "" {
			malformed = append(malformed, entry)
			continue
		}
		a[name] = ref
	}
	return a, malformed
}

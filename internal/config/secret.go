package config

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// noKeys is said of a key in the settings. It does not hold it.
const noKeys = "a key must not be in the settings: store it with cantle login, name the variable that has it in apiKeyEnv (in keyEnv for web.search), " +
	"or the program that prints it in apiKeyCommand; in headers, query and options write ${NAME}, the name of a variable; commands get no keys"

// keyWords end the names of what holds a secret.
var keyWords = []string{
	"token", "secret", "password", "passwd", "passphrase", "authorization", "apikey", "credential", "credentials", "cookie",
	"api key", "access key", "secret key", "private key", "auth key", "subscription key", "key",
}

// keyName reports whether what has that name is a secret: an API key, a token,
// a password. A "key" of anything else, as a sort key, is none.
func keyName(name string) bool {
	w := words(name)
	for _, end := range keyWords {
		if w == end || end != "key" && strings.HasSuffix(w, " "+end) {
			return true
		}
	}
	return false
}

// words are the words of a name in lower case: "X-Api-Key", "api_key" and
// "apiKey" have the same, and so has "APIKey".
func words(name string) string {
	var b strings.Builder
	rs := []rune(name)
	for i, r := range rs {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(rs[i-1]) || unicode.IsUpper(rs[i-1]) && i+1 < len(rs) && unicode.IsLower(rs[i+1])):
			b.WriteRune(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// A referenceForm is a variable, or one after the name of a scheme.
var referenceForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:(?:bearer|basic|token) +)?\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)
})

// reference reports whether the text holds no secret itself, but the name of
// the variable that does.
func reference(text string) bool { return text == "" || referenceForm().MatchString(text) }

var variableForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`) })

// Expand puts the values of variables in the place of "${NAME}". It returns the
// names of those that are not set, for which there is nothing in the text.
func Expand(text string, getenv func(string) string) (out string, missing []string) {
	out = variableForm().ReplaceAllStringFunc(text, func(ref string) string {
		name := ref[2 : len(ref)-1]
		v := getenv(name)
		if v == "" && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
		return v
	})
	return out, missing
}

// References are the names of the variables in a text.
func References(text string) []string {
	var out []string
	for _, m := range variableForm().FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// leaf reports whether a type has several forms in the settings, none of which
// has settings in it.
func leaf(t reflect.Type) bool {
	return t == reflect.TypeFor[Command]() || t == reflect.TypeFor[PromptCache]()
}

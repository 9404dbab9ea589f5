package cli_test

import (
	"strings"
	"testing"
)

// TestWrongArguments: every command says in our words what it wants, and where more
// is said.
func TestWrongArguments(t *testing.T) {
	d := newDesk(t)
	for args, want := range map[string]string{
		"sandbox run":               "nothing is given: write cantle sandbox run -- COMMAND [ARGUMENT…]; see cantle sandbox run --help",
		"permissions test":          "nothing is given: write cantle permissions test FILE; see",
		"permissions test a b":      "2 arguments are given: write cantle permissions test FILE; see",
		"permissions why":           "nothing is given: write cantle permissions why COMMAND | why TOOL INPUT; see",
		"permissions why |":         "the command line is empty",
		"permissions why git log x": "3 words: give one command line, in quotes",
		"sessions rename x":         `"x" alone is given: write cantle sessions rename ID TITLE...; see`,
		"models a b":                "2 arguments are given: write cantle models [PROVIDER]; see",
		"version x":                 `cantle version takes no arguments, and "x" is given; see cantle version --help`,
		"trust sow":                 `there is no command "sow" of cantle trust: did you mean show`,
		"--ploin":                   "there is no flag --ploin of cantle: did you mean --plain? See cantle --help",
		"run --mdoel x":             "there is no flag --mdoel of cantle run: did you mean --model",
		"permissions list --alow x": "did you mean --allow",
		"run --qqqqqq":              "there is no flag --qqqqqq of cantle run; see cantle run --help",
		"run -yZ":                   "there is no flag -Z of cantle run; see cantle run --help",
		"run --model":               "--model wants a value; see cantle run --help",
		"run -m":                    "-m wants a value; see",
		"run --output x":            `-o, --output "x": use text or json or stream-json; see`,
		"run --yes=maybe":           `-y, --yes "maybe": `,
		"--=":                       `"--=" is no flag; see cantle --help`,
	} {
		words := strings.Fields(args)
		for i := range words {
			words[i] = strings.Trim(words[i], "|")
		}
		out, errs, code := d.run(words...)
		if code != 2 || out != "" || !strings.HasPrefix(errs, "cantle: ") || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit %d, %s%s", args, code, out, errs)
		}
	}
}

package guard_test

import (
	"fmt"
	"os"

	"github.com/cantle-dev/cantle/guard"
)

func Example() {
	r := guard.New(guard.Options{Keys: func() []guard.Key {
		return []guard.Key{{Name: "openai", Value: "sk-proj-Zq8Rw2LmX7cVb1NpT5yH"}}
	}})
	fmt.Println(r.Text("+ curl -H 'Authorization: Bearer sk-proj-Zq8Rw2LmX7cVb1NpT5yH'"))
	fmt.Println(string(r.JSON([]byte(`{"env":"KEY=sk-proj-Zq8Rw2LmX7cVb1NpT5yH;"}`))))
	w := r.Writer(os.Stdout)
	fmt.Fprint(w, "KEY=sk-proj-Zq8R")
	fmt.Fprintln(w, "w2LmX7cVb1NpT5yH")
	w.Close()
	// Output:
	// + curl -H 'Authorization: Bearer [key of openai]'
	// {"env":"KEY=[key of openai];"}
	// KEY=[key of openai]
}

func ExampleText() {
	fmt.Println(guard.Text("git clone https://me:hunter2@git.example.com && export GH=ghp_0123456789abcdefghijABCDEFGHIJ012345;"))
	// Output: git clone https://me:[password]@git.example.com && export GH=[token of GitHub];
}

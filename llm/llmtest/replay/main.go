// Command replay runs recorded exchanges with providers through the adapters
// and compares what they make of them with what is expected:
//
//	go run ./llm/llmtest/replay DIR
//
// DIR holds a folder with a case.json for each case. It prints a line for each
// fault and, last, how many cases passed, failed and were skipped; it exits
// with 1 if any failed and with 2 if it could not begin. Nothing is skipped
// but what -wire or -run leave out. With -json the faults go to standard error,
// and standard output has the numbers alone, those of each provider among them.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cantle-dev/cantle/llm"
	"github.com/cantle-dev/cantle/llm/anthropic"
	"github.com/cantle-dev/cantle/llm/bedrock"
	"github.com/cantle-dev/cantle/llm/cohere"
	"github.com/cantle-dev/cantle/llm/gemini"
	"github.com/cantle-dev/cantle/llm/internal/wirecase"
	"github.com/cantle-dev/cantle/llm/ollama"
	"github.com/cantle-dev/cantle/llm/openai"
)

// adapter makes a model for an exchange; info says what is assumed of it.
type adapter func(x *wirecase.Exchange, base string, info llm.Info) llm.Model

const key = "key-for-replay"

// adapters has a line for each wire.
var adapters = map[string]adapter{
	"anthropic": func(x *wirecase.Exchange, base string, info llm.Info) llm.Model {
		return anthropic.New(x.Model(), anthropic.Options{BaseURL: base, APIKey: key, Info: info})
	},
	"gemini": func(x *wirecase.Exchange, base string, info llm.Info) llm.Model {
		return gemini.New(x.Model(), gemini.Options{BaseURL: base, APIKey: key, Info: info})
	},
	"bedrock": onBedrock,
	"cohere": func(x *wirecase.Exchange, base string, info llm.Info) llm.Model {
		return cohere.New(x.Model(), cohere.Options{BaseURL: base, APIKey: key, Info: info})
	},
	"ollama": func(x *wirecase.Exchange, base string, info llm.Info) llm.Model {
		return ollama.New(x.Model(), ollama.Options{BaseURL: base, Info: info})
	},
	"openai-chat": chat,
	"mistral":     chat,
	"openai-responses": func(x *wirecase.Exchange, base string, info llm.Info) llm.Model {
		return openai.NewResponses(x.Model(), openai.Options{BaseURL: base, APIKey: key, Info: info})
	},
}

func chat(x *wirecase.Exchange, base string, info llm.Info) llm.Model {
	return openai.NewChat(x.Model(), openai.Options{BaseURL: base, APIKey: key, Info: info})
}

func onBedrock(x *wirecase.Exchange, base string, info llm.Info) llm.Model {
	o := bedrock.Options{BaseURL: base, APIKey: key, Info: info}
	switch o.NoStream = x.API == "converse" || x.API == "invoke"; x.API {
	case "invoke", "invoke-with-response-stream":
		return bedrock.NewAnthropic(x.Model(), o)
	}
	return bedrock.New(x.Model(), o)
}

func open(x *wirecase.Exchange, base string) llm.Model {
	if a := adapters[x.Wire]; a != nil {
		return a(x, base, llm.Info{Provider: x.Provider, Traits: llm.Traits{Images: true, PDF: true, Thinking: true, Schema: true}})
	}
	return nil
}

// limit is for one case: they are all answered at once.
const limit = time.Minute

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	flags.SetOutput(errs)
	wires := flags.String("wire", "", "only cases that are on these `wires` alone, as anthropic,gemini")
	name := flags.String("run", "", "only cases that have this `text` in their names")
	asJSON := flags.Bool("json", false, "write the numbers as JSON, by provider")
	flags.Usage = func() {
		fmt.Fprintln(errs, "usage: replay [-wire names] [-run text] [-json] DIR")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil || flags.NArg() != 1 {
		if err == nil {
			flags.Usage()
		}
		return 2
	}
	dirs, err := wirecase.List(flags.Arg(0))
	if err != nil {
		fmt.Fprintln(errs, err)
		return 2
	}
	told := out
	if *asJSON {
		told = errs
	}
	var sum tally
	for _, dir := range dirs {
		c, err := wirecase.Load(dir)
		if err != nil {
			fmt.Fprintf(told, "%s: %v\n", filepath.Base(dir), err)
			sum.add(wirecase.Case{}, 1)
			continue
		}
		if !strings.Contains(c.Name, *name) || *wires != "" && !on(c, strings.Split(*wires, ",")) {
			sum.Skipped++
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		faults := c.Run(ctx, open)
		cancel()
		for _, f := range faults {
			fmt.Fprintln(told, strings.ReplaceAll(f, "\n", "\n\t"))
		}
		sum.add(c, len(faults))
	}
	if err := sum.write(out, *asJSON); err != nil {
		fmt.Fprintln(errs, err)
		return 2
	}
	if sum.Failed > 0 {
		return 1
	}
	return 0
}

func on(c wirecase.Case, wires []string) bool {
	return !slices.ContainsFunc(c.Exchanges, func(x wirecase.Exchange) bool { return !slices.Contains(wires, x.Wire) })
}

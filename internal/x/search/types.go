package search

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// types is what files of a language or a format are called: ".x" is the end of
// a name, anything else a whole name.
var types = map[string]string{
	"asm":        ".s .S .asm",
	"bazel":      ".bzl .bazel BUILD WORKSPACE",
	"c":          ".c .h",
	"clojure":    ".clj .cljs .cljc .edn",
	"cmake":      ".cmake CMakeLists.txt",
	"cpp":        ".cpp .cc .cxx .c++ .hpp .hh .hxx .h++ .h .inl .ipp",
	"cs":         ".cs .csx",
	"css":        ".css .scss .sass .less",
	"csv":        ".csv .tsv",
	"dart":       ".dart",
	"docker":     ".dockerfile Dockerfile Containerfile",
	"elixir":     ".ex .exs .eex .heex",
	"elm":        ".elm",
	"erlang":     ".erl .hrl",
	"fortran":    ".f .f77 .f90 .f95 .f03",
	"fsharp":     ".fs .fsx .fsi",
	"go":         ".go",
	"graphql":    ".graphql .gql",
	"groovy":     ".groovy .gradle Jenkinsfile",
	"haskell":    ".hs .lhs",
	"html":       ".html .htm .xhtml",
	"java":       ".java .jsp",
	"js":         ".js .jsx .mjs .cjs .vue .svelte",
	"json":       ".json .jsonl .jsonc .json5",
	"julia":      ".jl",
	"kotlin":     ".kt .kts",
	"lua":        ".lua",
	"make":       ".mk .mak Makefile makefile GNUmakefile",
	"markdown":   ".md .markdown .mdx",
	"nim":        ".nim",
	"nix":        ".nix",
	"ocaml":      ".ml .mli",
	"perl":       ".pl .pm .t",
	"php":        ".php .phtml",
	"proto":      ".proto",
	"powershell": ".ps1 .psm1 .psd1",
	"py":         ".py .pyi .pyx",
	"r":          ".r .R .Rmd",
	"ruby":       ".rb .erb .rake .gemspec Gemfile Rakefile",
	"rust":       ".rs",
	"scala":      ".scala .sc .sbt",
	"sh":         ".sh .bash .zsh .ksh .fish",
	"sql":        ".sql",
	"swift":      ".swift",
	"terraform":  ".tf .tfvars .hcl",
	"tex":        ".tex .sty .cls .bib",
	"toml":       ".toml",
	"ts":         ".ts .tsx .mts .cts",
	"txt":        ".txt",
	"xml":        ".xml .xsd .xsl .xslt .svg",
	"yaml":       ".yaml .yml",
	"zig":        ".zig",
}

// longNames is other names for types.
var longNames = map[string]string{
	"bash": "sh", "c++": "cpp", "c#": "cs", "csharp": "cs", "dockerfile": "docker", "golang": "go", "javascript": "js",
	"jsx": "js", "md": "markdown", "python": "py", "rb": "ruby", "rs": "rust", "shell": "sh", "tsx": "ts", "typescript": "ts", "yml": "yaml",
}

// Type gives a function that says whether a file is of the named type, such as
// "go" or "python"; nil if there is no such type.
func Type(name string) func(path string) bool {
	name = strings.ToLower(strings.TrimPrefix(name, "."))
	if long, ok := longNames[name]; ok {
		name = long
	}
	list, ok := types[name]
	if !ok {
		return nil
	}
	ends := strings.Fields(list)
	return func(file string) bool {
		base := path.Base(file)
		return slices.ContainsFunc(ends, func(e string) bool {
			if e[0] == '.' {
				return strings.HasSuffix(base, e)
			}
			return base == e
		})
	}
}

// Types lists the names of the types, sorted.
func Types() []string { return slices.Sorted(maps.Keys(types)) }

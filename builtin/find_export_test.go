package builtin

// The limits of Glob and Grep, for the test of what is said about them.
const (
	GlobLimit, GlobMax, GlobBytes = globLimit, globMax, globBytes
	GrepLimit, GrepMax, GrepBytes = grepLimit, grepMax, grepBytes
)

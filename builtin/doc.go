// Package builtin holds the tools of a coding agent: Read, Write, Edit, Bash,
// Jobs, Glob, Grep and TodoWrite.
//
// [Tools] returns all of them, sharing what they must share:
//
//	tools := builtin.Tools(builtin.Options{Root: "/home/me/project"})
//
// Each is also made by a function of its own, such as [Read], for an agent
// that needs few of them.
//
// The tools ask nobody and hold no jail: each says what a call would touch, as
// [tool.Access] values over absolute paths with symbolic links resolved, and
// whoever runs it decides. What they do hold is that a call touches nothing
// but what was decided on: a path that has come to lead elsewhere since is
// refused.
package builtin

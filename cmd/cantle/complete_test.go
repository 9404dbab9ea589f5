package main_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompletionInBash: a shell that has read the script completes, with the
// package bash-completion and without.
func TestCompletionInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here: ", err)
	}
	w := newWorld(t)
	const script = `source <(cantle completion bash) || exit 1
c() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_POINT=${#COMP_LINE}; COMPREPLY=(); __start_cantle; echo "$COMP_LINE -> ${COMPREPLY[*]}"; }
COMP_LINE='cantle mod'; c cantle mod
COMP_LINE='cantle run --mode accept'; c cantle run --mode accept
COMP_LINE='cantle run --output=stream'; c cantle run --output = stream
COMP_LINE='cantle login anthro'; c cantle login anthro
COMP_LINE='cantle run -m anthro'; c cantle run -m anthro
COMP_LINE='cantle run -m anthropic:claude-opus-4-8'; c cantle run -m anthropic : claude-opus-4-8
COMP_LINE='cantle sessions sal'; c cantle sessions sal
`
	cmd := exec.Command(bash, "--norc", "--noprofile", "-c", script)
	cmd.Dir = w.dir
	cmd.Env = append([]string{"PATH=" + filepath.Dir(program) + ":/usr/bin:/bin"}, w.env[1:]...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v, %s", err, out)
	}
	for _, want := range []string{
		"cantle mod -> models", "--mode accept -> acceptEdits", "--output=stream -> stream-json",
		"login anthro -> anthropic", "-m anthro -> anthropic:", "claude-opus-4-8 -> claude-opus-4-8", "sessions sal -> salvage",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

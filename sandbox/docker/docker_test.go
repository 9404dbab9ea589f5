package docker_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/sandbox/docker"
)

func TestUnavailable(t *testing.T) {
	if _, err := docker.Open(t.Context(), docker.Options{}); err == nil || !strings.Contains(err.Error(), "no image was named") {
		t.Error(err)
	}
	_, err := docker.Open(t.Context(), docker.Options{Image: "x", Program: "/no/such/docker"})
	if !errors.Is(err, docker.ErrUnavailable) {
		t.Error(err)
	}
}

// TestAnEngineThatDoesNotAnswer: what it said is in the error, which goes on with
// what to do.
func TestAnEngineThatDoesNotAnswer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("containers are for Linux")
	}
	program := filepath.Join(t.TempDir(), "engine")
	const script = "#!/bin/sh\n[ $1 = \"$ANSWERS\" ] && exit 0\necho 'Cannot connect to the engine.' >&2\necho 'Is it running?' >&2\nexit 1\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	// A supervisor must be there, and runs nowhere here.
	var static bytes.Buffer
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT)}
	copy(h.Ident[:], elf.ELFMAG+string([]byte{byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}))
	helper := filepath.Join(t.TempDir(), "helper")
	if err := errors.Join(binary.Write(&static, binary.LittleEndian, h), os.WriteFile(helper, static.Bytes(), 0o700)); err != nil {
		t.Fatal(err)
	}
	for answers, want := range map[string]string{
		"":        program + " gets no answer (engine version: Cannot connect to the engine. Is it running); start its engine, or let this user use it",
		"version": "the image x:1 is not here (engine image: Cannot connect to the engine. Is it running); get it with: " + program + " pull x:1",
	} {
		t.Setenv("ANSWERS", answers)
		_, err := docker.Open(t.Context(), docker.Options{Image: "x:1", Program: program, Helper: helper})
		if err == nil || err.Error() != "docker: no containers: "+want {
			t.Errorf("%v", err)
		}
	}
}

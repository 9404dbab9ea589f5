//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantle-dev/cantle/llm/llmtest"
)

// dockerImage has busybox and nothing else. The test makes it where there is an
// engine and a busybox that needs no libraries.
const dockerImage = "cantle-test:cmd"

// TestSandboxOfContainers is the program with containers.
func TestSandboxOfContainers(t *testing.T) {
	root := t.TempDir()
	script := `docker version >/dev/null && mkdir bin etc && cp "$(command -v busybox)" bin/busybox && cd bin &&
for a in $(./busybox --list); do [ $a = busybox ] || ln -s busybox $a; done && cd .. && tar -c . | docker import - ` + dockerImage
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("there is no engine, or no busybox: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "--force", dockerImage).Run() }) // left, it does no harm
	static := filepath.Join(t.TempDir(), "cantle")
	build := exec.Command("go", "build", "-o", static, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	was := program
	program = static
	defer func() { program = was }()
	var env []string
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		env = append(env, "DOCKER_HOST="+host)
	}
	t.Run("escapes", func(t *testing.T) { escapes(t, newBoxed(t, "docker", env...)) })
	t.Run("ended", func(t *testing.T) { ended(t, newBoxed(t, "docker", env...)) })
	t.Run("network", func(t *testing.T) {
		if out, err := exec.Command("docker", "network", "inspect", "bridge").CombinedOutput(); err != nil {
			t.Skipf("the engine has no network: %s", out)
		}
		b := newBoxed(t, "docker", env...)
		s := b.serve(llmtest.WireChat, llmtest.Play(t,
			llmtest.Call("Bash", map[string]any{"command": "ls /sys/class/net"}),
			llmtest.Call("Bash", map[string]any{"command": "ls /sys/class/net", "sandbox": "network"}).Want(llmtest.LastResult("lo")),
			llmtest.Say("done").Want(llmtest.LastResult("eth0")),
		))
		if out, errs, code := b.run(append(b.flags(), "--yes", "go")...); code != 0 {
			t.Errorf("exit %d, %s%s", code, out, errs)
		}
		if first, _ := s.Requests()[1].LastResult(); strings.Contains(first, "eth0") {
			t.Errorf("a command that asked for no network has one: %s", first)
		}
	})
}

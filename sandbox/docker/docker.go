// Package docker runs commands in containers of Docker or Podman: of this
// machine's files they see the workspace alone, and their memory, processes
// and time of the processor are limited.
//
//	run, err := docker.Open(ctx, docker.Options{Image: "python:3.12-slim"})
//	if err != nil {
//		log.Fatal(err) // it says what is missing
//	}
//	defer run.Close()
//	p, err := run.Start(ctx, &sandbox.Command{
//		Args: []string{"/bin/sh", "-c", "python3 x.py"}, Dir: dir, Env: env,
//		Policy: sandbox.Policy{WriteRoots: []string{dir}, NoNetwork: true},
//	})
//
// A container is started for each policy and kept for the next command of the
// same one. Its first process is this program itself, as a supervisor, so that
// a command ends here as it does everywhere; for that the program must be a
// static Linux binary that calls [sandbox.Main], and the engine must be of this
// machine. To the environment of a command is added what the image has of its
// own, such as its PATH, and the command has not. The container ends with the program, even if it is killed.
package docker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Options configure [Open]. The limits are those of one container.
type Options struct {
	Image string // must be there already; required
	// Program is the path of docker or podman; "" looks for the one and then
	// the other where they are usually installed.
	Program string
	Memory  string // "" is "512m"
	CPUs    string // "" is "1"
	PIDs    int    // 0 is 256
	// Network is the engine's network for commands whose policy leaves the
	// network open; "" is "none": no network at all.
	Network string
	// Helper is the program that is the supervisor; "" is this one.
	Helper string
	// Denied hears of each request to a host that no policy's Domains hold.
	Denied func(host, why string)
}

// ErrUnavailable means that no container can be had.
var ErrUnavailable = errors.New("no containers")

// enginePatience bounds what an engine has to answer in.
const enginePatience = 30 * time.Second

// programs are looked for in this order, never by the PATH, which a project may
// have changed.
var programs = []string{
	"/usr/bin/docker", "/usr/local/bin/docker", "/opt/homebrew/bin/docker",
	"/usr/bin/podman", "/usr/local/bin/podman", "/opt/homebrew/bin/podman",
}

func find(o Options) (string, error) {
	if o.Image == "" {
		return "", errors.New("docker: no image was named; name one that is there, such as one that \"docker images\" lists")
	}
	if o.Program != "" {
		return o.Program, nil
	}
	for _, p := range programs {
		if fi, err := os.Stat(p); err == nil && fi.Mode().IsRegular() {
			return p, nil
		}
	}
	return "", fmt.Errorf("docker: %w: neither docker nor podman is installed in /usr/bin, /usr/local/bin or /opt/homebrew/bin", ErrUnavailable)
}

// engine runs the engine's command line.
func engine(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, enginePatience)
	defer cancel()
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &said, time.Second
	if err := cmd.Run(); err != nil {
		text := strings.Join(strings.Fields(said.String()), " ")
		if ctx.Err() != nil {
			text = "no answer in time"
		}
		return "", fmt.Errorf("%s %s: %s", filepath.Base(program), args[0], cmp.Or(strings.TrimRight(text, ".?"), err.Error()))
	}
	return strings.TrimSpace(out.String()), nil
}

// check finds out whether the engine answers and has the image, whose
// environment it gives.
func check(ctx context.Context, program string, o Options) ([]string, error) {
	if _, err := engine(ctx, program, "version", "--format", "{{.Server.Version}}"); err != nil {
		return nil, fmt.Errorf("docker: %w: %s gets no answer (%w); start its engine, or let this user use it", ErrUnavailable, program, err)
	}
	out, err := engine(ctx, program, "image", "inspect", "--format", "{{json .Config.Env}}", o.Image)
	if err != nil {
		return nil, fmt.Errorf("docker: %w: the image %s is not here (%w); get it with: %s pull %s", ErrUnavailable, o.Image, err, program, o.Image)
	}
	var env []string
	if err := json.Unmarshal([]byte(out), &env); err != nil {
		return nil, fmt.Errorf("docker: %w: the environment of the image %s: %w", ErrUnavailable, o.Image, err)
	}
	return env, nil
}

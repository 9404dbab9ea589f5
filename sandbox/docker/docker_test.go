package docker_test

import (
	"errors"
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

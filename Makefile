# Every target needs only Go and git. `make check` is what continuous
# integration runs.

FUZZTIME ?= 30s
BENCHTIME ?= 1s

.PHONY: build check test bench fuzz soak

build:
	go build -trimpath -ldflags '-s -w' -o dist/ ./cmd/...

test:
	go test ./...

check:
	.ci/run

bench:
	go run ./bench
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

# go test fuzzes one target at a time, so each is named and run in turn.
fuzz:
	@set -e; for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "== $$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

# The long tests: the ones that go test runs only a seeded part of.
soak:
	CANTLE_SOAK=1 go test -count=1 -timeout 60m ./...

# make build   bin/flagos-trace, the agent it injects, bin/libflagos_trace.so with
#              bin/libflagos_trace_go.so, and the program with which doctor tries
#              the device
# make launch-loop  bin/flagos-trace-launch-loop, for scripts/validate-gpu --overhead
# make demo    record a small workload on a look-alike GPU library, no GPU needed
# make test    all tests
# make reliability  each fault many times, and the table in docs/reliability.md
# make sqltest the queries of docs/sql.md in DuckDB
# make bench   speed, as ratios of one run
# make soak    recordings that are large or long, about 20 minutes
GO      ?= go
VERSION ?=
LDFLAGS := $(if $(VERSION),-X github.com/flagos-ai/flagos-trace/internal/version.set=$(VERSION))
AGENT_LDFLAGS := $(if $(VERSION),-X main.version=$(VERSION))
DEMO    := trace.json.gz
FUZZTIME ?= 5s
# As for cgo, which builds the agent.
ifeq ($(origin CC),default)
CC := gcc
endif
# Checked every time: the Go tool knows best what has to be built again.
.PHONY: all build agent probe launch-loop fakegpu demo test soak reliability lint sqltest fuzz bench clean

all: build

build: agent probe
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "$(LDFLAGS)" -o bin/flagos-trace ./cmd/flagos-trace

# The part that is injected is C; it loads the other, which has the Go runtime.
STUB := cmd/libflagos-trace/stub
agent:
	CGO_ENABLED=1 $(GO) build -trimpath -buildmode=c-shared -ldflags "$(AGENT_LDFLAGS)" -o bin/libflagos_trace_go.so ./cmd/libflagos-trace
	$(CC) -std=gnu11 -O2 -Wall -Wextra -fvisibility=hidden $(if $(VERSION),-DFT_VERSION='"$(VERSION)"') -fPIC -shared -Wl,-z,defs,-z,nodelete \
	  -Wl,--version-script,$(STUB)/exports.map -o bin/libflagos_trace.so $(STUB)/*.c -pthread -ldl
	$(CC) -std=gnu11 -O2 -Wall -Wextra -fvisibility=hidden -fPIC -shared -Wl,-z,defs \
	  -o bin/libflagos_trace_preload.so cmd/libflagos-trace/preload/preload.c -ldl

probe:
	@mkdir -p bin
	$(CC) -std=gnu11 -O1 -Wall -Wextra -o bin/flagos-trace-probe cmd/flagos-trace-probe/probe.c -ldl

launch-loop:
	@mkdir -p bin
	$(CC) -std=gnu11 -O2 -Wall -Wextra -o bin/flagos-trace-launch-loop scripts/workloads/launch_loop.c -ldl

fakegpu:
	$(GO) run ./internal/fakegpu/cmd/build-fakegpu bin/fakegpu >/dev/null

demo: build fakegpu
	LD_LIBRARY_PATH=bin/fakegpu/lib:bin/fakegpu/cupti13 bin/flagos-trace record -o $(DEMO) -- bin/fakegpu/fakegpu-workload
	@echo "Open $(CURDIR)/$(DEMO) in https://ui.perfetto.dev"

test:
	$(GO) test -timeout 9m ./...

# Eight processes of a million launches, many fork storms, ten minutes of windows.
soak:
	$(GO) test -v -timeout 60m -run 'TestLoad|TestForkStorm|TestSoak' ./internal/reliability -args -launches 1000000 -storms 50 -soak 10m

# The table is written only if all of it passes.
TRIES ?= 20
reliability:
	$(GO) test -count=1 -timeout 60m -run '^TestFaults$$' ./internal/reliability -tries $(TRIES) -report ../../docs/reliability.md

lint:
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "not gofmt'ed: $$files"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# The queries of docs/sql.md in DuckDB, which is a large library: a module of its own.
sqltest:
	cd export/sqltest && $(GO) test ./...

# Every fuzz target for a short while, one after the other.
fuzz:
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

# Reading and validating against Python's json.load and gunzip, as ratios of one run,
# then every Go benchmark.
bench:
	$(GO) run ./bench
	$(GO) test -run '^$$' -bench . -benchmem ./...

clean:
	rm -rf bin $(DEMO)

# make build   bin/flagos-trace, the agent it injects, bin/libflagos_trace.so with
#              bin/libflagos_trace_go.so, and the program with which doctor tries
#              the device
# make launch-loop  bin/flagos-trace-launch-loop, for scripts/validate-gpu --overhead
# make demo    record a small workload on a look-alike GPU library, no GPU needed;
#              VENDOR=ascend|musa|metax|ppu|dcu: on that vendor's, and compare it with CUDA's
# make dist    dist/: what is released, for amd64 and arm64 (needs gcc-aarch64-linux-gnu)
# make test-arm64  decoders and recordings for arm64, under qemu (needs qemu-user-static,
#              gcc-aarch64-linux-gnu and libc6-dev-arm64-cross)
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
BIN     ?= bin
FUZZTIME ?= 5s
# As for cgo, which builds the agent.
ifeq ($(origin CC),default)
CC := gcc
endif
# Checked every time: the Go tool knows best what has to be built again.
.PHONY: all build agent probe launch-loop cupti-detach fakegpu demo dist test-arm64 test soak reliability lint sqltest fuzz bench clean

all: build

build: agent probe
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "$(LDFLAGS)" -o $(BIN)/flagos-trace ./cmd/flagos-trace

# The part that is injected is C; it loads the other, which has the Go runtime. Where
# the heap of that begins is left to no chance, if this Go can be told so: see
# cmd/libflagos-trace/warm.c.
STUB := cmd/libflagos-trace/stub
AGENT_EXPERIMENT = $(shell GOEXPERIMENT=norandomizedheapbase64 $(GO) env GOEXPERIMENT 2>/dev/null)
agent:
	@mkdir -p $(BIN)
	GOEXPERIMENT=$(AGENT_EXPERIMENT) CGO_ENABLED=1 CC="$(CC)" $(GO) build -trimpath -buildmode=c-shared -ldflags "$(AGENT_LDFLAGS)" -o $(BIN)/libflagos_trace_go.so ./cmd/libflagos-trace
	$(CC) -std=gnu11 -O2 -Wall -Wextra -fvisibility=hidden $(if $(VERSION),-DFT_VERSION='"$(VERSION)"') -fPIC -shared -Wl,-z,defs,-z,nodelete \
	  -Wl,--version-script,$(STUB)/exports.map -o $(BIN)/libflagos_trace.so $(STUB)/*.c -pthread -ldl
	$(CC) -std=gnu11 -O2 -Wall -Wextra -fvisibility=hidden -fPIC -shared -Wl,-z,defs \
	  -o $(BIN)/libflagos_trace_preload.so cmd/libflagos-trace/preload/preload.c -ldl

probe:
	@mkdir -p $(BIN)
	$(CC) -std=gnu11 -O1 -Wall -Wextra -o $(BIN)/flagos-trace-probe cmd/flagos-trace-probe/probe.c -ldl

launch-loop:
	@mkdir -p bin
	$(CC) -std=gnu11 -O2 -Wall -Wextra -o bin/flagos-trace-launch-loop scripts/workloads/launch_loop.c -ldl

cupti-detach:
	@mkdir -p bin
	$(CC) -std=gnu11 -O2 -Wall -Wextra -o bin/flagos-trace-cupti-detach scripts/workloads/cupti_detach.c -ldl -lpthread

fakegpu:
	$(GO) run ./internal/fakegpu/cmd/build-fakegpu bin/fakegpu >/dev/null

# The look-alikes that the demo runs on; without VENDOR those of CUDA.
VENDOR  ?=
FAKE    := bin/fakegpu
RECORD_CUDA = LD_LIBRARY_PATH=$(FAKE)/lib:$(FAKE)/cupti13 bin/flagos-trace record -o $(1) -- $(FAKE)/fakegpu-workload
# Ascend's copies are recorded only where its library is preloaded.
VENDOR_LIBRARIES := $(if $(filter ascend,$(VENDOR)),$(FAKE)/ascend:$(FAKE)/mspti,$(FAKE)/$(VENDOR))
VENDOR_ENV       := $(if $(filter ascend,$(VENDOR)),FLAGOS_TRACER_LIBRARY=$(CURDIR)/$(FAKE)/mspti/libmspti.so)
VENDOR_FLAGS     := $(if $(filter ascend,$(VENDOR)),--preload)

demo: build fakegpu
ifeq ($(VENDOR),)
	$(call RECORD_CUDA,$(DEMO))
	@echo "Open $(CURDIR)/$(DEMO) in https://ui.perfetto.dev"
else
	@mkdir -p demo-out
	$(call RECORD_CUDA,demo-out/cuda.json.gz) >/dev/null 2>&1
	LD_LIBRARY_PATH=$(VENDOR_LIBRARIES) $(VENDOR_ENV) bin/flagos-trace record --vendor $(VENDOR) $(VENDOR_FLAGS) -o demo-out/$(VENDOR).json.gz -- $(FAKE)/fakegpu-workload-$(VENDOR)
	bin/flagos-trace diff --scope device demo-out/cuda.json.gz demo-out/$(VENDOR).json.gz
	@echo "Open $(CURDIR)/demo-out/$(VENDOR).json.gz in https://ui.perfetto.dev"
endif

# The same recipes build for another architecture, with its compiler.
CC_amd64 ?= $(if $(filter x86_64,$(shell uname -m)),$(CC),x86_64-linux-gnu-gcc)
CC_arm64 ?= $(if $(filter aarch64,$(shell uname -m)),$(CC),aarch64-linux-gnu-gcc)
DIST := dist/flagos-trace$(if $(VERSION),-$(VERSION))

dist:
	rm -rf dist
	@set -e; for arch in amd64 arm64; do \
	  case $$arch in amd64) cc="$(CC_amd64)";; arm64) cc="$(CC_arm64)";; esac; \
	  to=$(DIST)-linux-$$arch; echo "$$to ($$cc)"; \
	  GOOS=linux GOARCH=$$arch $(MAKE) --no-print-directory build CC=$$cc BIN=$$to; \
	  cp -r LICENSE README.md docs $$to/; rm -f $$to/libflagos_trace_go.h; \
	  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -czf $$to.tar.gz -C dist $$(basename $$to); \
	done

# Under qemu's user emulation: decoders, and recordings from end to end. ARM64: the
# script's flags.
ARM64 ?=
test-arm64: build
	GO="$(GO)" CC_arm64="$(CC_arm64)" NATIVE="$(BIN)" scripts/test-arm64 $(ARM64)

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
	rm -rf bin dist demo-out $(DEMO)

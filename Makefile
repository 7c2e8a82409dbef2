# make demo     build, and serve a moving test picture to look at
# make test     run every test
# make help     the rest

SWIFT ?= swift
# SwiftPM names a package's traits to the compiler in the order of a hash table. Where that is another one each time, every
# second build starts from the beginning.
export SWIFT_DETERMINISTIC_HASHING = 1
# What only computes is optimised where tests are built too: PreviewCore's tests take a tenth of the time.
export GLPREVIEW_OPTIMISED = 1
SWIFT_BUILD = $(SWIFT) build
# All symbols are bound at the start and then are read-only (-z relro -z now); no library is looked for beside the command.
BUILD_FLAGS ?= --static-swift-stdlib --disable-local-rpath -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now
GLPREVIEW = .build/release/glpreview
PREFIX ?= /usr/local
EXAMPLES = CallSnapshot Clip MultiPreview Replicator Still Thumbnails
# So many tests at a time: all at once, those that wait for something would wait for all others too.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 6
# Where a process of the tests crashes, the log says in which line. The release command has Swift's runtime in it, and would look
# for swift-backtrace beside itself, and complain: no other target sets this.
test test-camera test-browser screenshot golden api: export SWIFT_BACKTRACE ?= enable=yes,interactive=no,color=no,threads=all

# Every shader of the tests is compiled once and draws little: OpenGL in software (Mesa's llvmpipe) need not optimise them here. It
# does in `make test-llvmpipe` and `make test-drivers`, as for users.
test: export GALLIVM_PERF ?= nopt

.PHONY: help setup build build-tests render examples examples-alone api docs test nightly test-llvmpipe test-drivers test-starved test-camera test-browser screenshot fuzz sanitize soak cluster \
  cluster-demo check-pictures check-api check-stores verify bench bench-service bench-hostile gpu-kit test-gpu-kit sbom release-notes deb test-deb format lint golden install install-service \
  clean

help:
	@echo "make demo      install what is missing, build, serve a moving test picture on this machine until Ctrl-C"
	@echo "make render    install what is missing, build, render the test pattern to several views under out/"
	@echo "make test      install what is missing, run every test (SUITE=trixie: in that release of Debian)"
	@echo "make nightly   what takes longer: each stage of scripts/stages whose record in Tests/nightly.json is out of date (STAGE=soak: that one)"
	@echo "make test-llvmpipe  the tests of sessions and of the service, drawn by OpenGL in software"
	@echo "make test-drivers  the conformance suite and the golden pictures by several drivers, each also with less than it has"
	@echo "make test-starved  run every test RUNS times beside BUSY busy loops (default: 3 and 4), until one fails"
	@echo "make test-camera   the tests that need a camera, in a small machine with a kernel of its own"
	@echo "make test-browser  the tests of the dashboard, in a headless Chromium"
	@echo "make soak      one service with cameras, clients, a disk and a clock that misbehave (SECONDS=300 SEED=1; docs/testing.md)"
	@echo "make cluster   nodes and NATS servers on a network of their own, with faults (NODES=4 SERVERS=1 FAULTS=3 SEED=1; docs/testing.md)"
	@echo "make cluster-demo  three nodes and a NATS server on this machine, until Ctrl-C"
	@echo "make fuzz      the parsers under libFuzzer (FUZZ_SECONDS=60 in sum, FUZZ_TARGETS=\"jpeg png\")"
	@echo "make sanitize  the tests under sanitizers (SANITIZE=\"address thread\")"
	@echo "make screenshot    take docs/dashboard.png again"
	@echo "make examples  build and run Examples/, each leaves what it shows under out/examples/; make examples-alone builds them as a package"
	@echo "make api       list the public declarations in docs/api.txt, a configuration's keys in docs/configuration.md, the service's addresses in docs/openapi.json, what other programs meet beside the tests"
	@echo "make docs      build the library's documentation (DocC) under out/docs/"
	@echo "make build     install what is missing, build $(GLPREVIEW)"
	@echo "make verify    compare this machine's driver with the reference renderer"
	@echo "make check-api  ask a service what its description of the API allows, and more (CASES=100 SEED=7)"
	@echo "make check-stores  send scheduled pictures to a real S3 store (moto) and by HTTP PUT"
	@echo "make check-pictures   compare pictures with what docs/semantics.md says, computed independently in numpy"
	@echo "make bench     the same work through glpreview and its peers (BENCH_FLAGS=--help tells more);"
	@echo "               BENCH_FLAGS=--matrix: every format, filter, size and encoding (\"--matrix --help\" tells more)"
	@echo "make bench-service  the service under load, beside ustreamer and others, on loopback"
	@echo "make bench-hostile  the service beside hostile cameras and clients that never read"
	@echo "make gpu-kit   pack the command, its libraries and benchmarks for a machine with a GPU but without Swift, under .gpu/"
	@echo "make test-gpu-kit  run that kit on OpenGL in software in a bare Debian (as root)"
	@echo "make sbom      say what the command is made of: out/sbom.json (SPDX 2.3)"
	@echo "make release-notes   that, and out/release-notes.md with all versions"
	@echo "make deb       pack a Debian package for machines without Swift: out/glpreview_*.deb (SUITE=trixie: for that release)"
	@echo "make test-deb  that, and its life in a fresh Debian, from installation to purge (as root)"
	@echo "make install   put the command into $(PREFIX)/bin"
	@echo "make install-service   puts the systemd unit there too, and /etc/glpreview/glpreview.yaml where there is none"
	@echo "make format    format the sources      make lint     check them"
	@echo "make golden    record missing golden pictures (look at them before you commit them)"
	@echo "make clean     remove what was built"

setup:
	@scripts/setup

build: setup
	$(SWIFT_BUILD) -c release $(BUILD_FLAGS) --product glpreview

# The release build, or `make demo GLPREVIEW=...`.
.PHONY: demo
demo:
	@scripts/setup demo
	$(if $(filter file,$(origin GLPREVIEW)),$(SWIFT_BUILD) -c release $(BUILD_FLAGS) --product glpreview)
	@GLPREVIEW="$(GLPREVIEW)" scripts/demo

render: build
	@mkdir -p out
	@$(GLPREVIEW) render pattern:smpte,size=1280x720 -o 'out/{view}.jpg' \
	  --view whole:size=640x360 \
	  --view centre:crop=720x720+280+0,size=320x320,mirror=horizontal \
	  --view turned:rotate=90,size=360x640 \
	  --view letterbox:size=400x400,mode=fit,background=#203040 \
	  --view thumbnail:size=160x90,filter=lanczos
	@$(GLPREVIEW) render pattern:zoneplate,size=1280x720 -o out/zoneplate.png --size 320x180
	@echo "rendered:" && ls -1 out/whole.jpg out/centre.jpg out/turned.jpg out/letterbox.jpg out/thumbnail.jpg out/zoneplate.png

# In the build of the tests, as targets of the same package.
examples: setup
	GLPREVIEW_PROGRAMS=examples $(SWIFT_BUILD)
	@for example in $(EXAMPLES); do .build/debug/$$example out/examples/$$example || exit 1; done
	@scripts/try-application .build/debug/HummingbirdApp out/examples/HummingbirdApp

# As other packages that depend on the library: without the trait HTTP, and with it beside Hummingbird.
examples-alone: setup
	$(SWIFT_BUILD) --package-path Examples --scratch-path .build/examples
	$(SWIFT_BUILD) --package-path Examples/HummingbirdApp --scratch-path .build/examples-hummingbird

api: setup
	$(SWIFT_BUILD) --build-tests
	@GLPREVIEW_RECORD_API=1 scripts/run-tests --filter 'FaceTests|ConfigurationKeyTests|APIDescriptionTests|RoomTests'
	@git diff --stat docs Tests

docs: setup
	@SWIFT="$(SWIFT)" scripts/docs

build-tests: setup
	$(SWIFT_BUILD) --build-tests

ifdef SUITE
test:
	@scripts/setup deb-test
	@SUITE="$(SUITE)" SWIFT="$(SWIFT)" scripts/deb-suite test
else
test: build-tests
	@SWIFT="$(SWIFT)" scripts/run-tests
endif

# One stage, or all whose records are out of date (scripts/stages list).
STAGE ?=
nightly:
	@scripts/stages night $(STAGE)

test-llvmpipe: build-tests
	@GLPREVIEW_TEST_GPU=llvmpipe GLPREVIEW_SESSION_ROUNDS=100 SWIFT="$(SWIFT)" scripts/run-tests --filter 'GLPreviewTests\.|GLPreviewServerTests\.'

test-drivers: build-tests
	@Tests/Drivers/run

test-starved:
	@scripts/prove-tests

test-camera:
	@scripts/setup camera
	$(SWIFT_BUILD) --build-tests
	@mkdir -p .build/camera-attachments
	@Tests/CameraVM/test --attachments .build/camera-attachments

test-browser:
	@scripts/setup browser
	$(SWIFT_BUILD) --build-tests
	@GLPREVIEW_BROWSER=1 SWIFT="$(SWIFT)" scripts/run-tests --filter BrowserTests

fuzz: setup
	@SWIFT="$(SWIFT)" scripts/fuzz

sanitize: setup
	@SWIFT="$(SWIFT)" scripts/sanitize

screenshot:
	@scripts/setup browser
	$(SWIFT_BUILD) --build-tests
	GLPREVIEW_BROWSER=1 GLPREVIEW_SCREENSHOT="$(CURDIR)/docs/dashboard.png" \
	  $(SWIFT) test --skip-build --filter 'BrowserTests.DashboardTests/screenshot'

SECONDS ?= 300
SEED ?= 1
# The debug build, or `make soak GLPREVIEW=...`.
soak:
	@scripts/setup soak
	$(if $(filter file,$(origin GLPREVIEW)),$(SWIFT_BUILD) --product glpreview)
	@Tests/Soak/soak --seconds $(SECONDS) --seed $(SEED) \
	  $(if $(filter file,$(origin GLPREVIEW)),,--glpreview "$(GLPREVIEW)")

NODES ?= 4
SERVERS ?= 1
FAULTS ?= 3
# First what checks is checked. The debug build, or `make cluster GLPREVIEW=...`; CLUSTER_FLAGS as in Tests/Cluster/run.py --help.
cluster:
	-@scripts/setup cluster
	@cd Tests/Cluster && python3 -B -m unittest --quiet
	$(if $(filter file,$(origin GLPREVIEW)),$(SWIFT_BUILD) --product glpreview)
	@Tests/Cluster/run.py --nodes $(NODES) --servers $(SERVERS) --faults $(FAULTS) --seed $(SEED) \
	  $(if $(filter file,$(origin GLPREVIEW)),,--glpreview "$(GLPREVIEW)") $(CLUSTER_FLAGS)

# The newest build that is there, or `make cluster-demo GLPREVIEW=...`.
cluster-demo:
	-@scripts/setup cluster
	@$(if $(filter file,$(origin GLPREVIEW)),,GLPREVIEW="$(GLPREVIEW)") scripts/cluster-demo

# The pictures are small, so that an unoptimised command will do.
check-pictures:
	@scripts/setup pictures
	$(if $(filter file,$(origin GLPREVIEW)),$(SWIFT_BUILD) --product glpreview)
	@scripts/check-pictures --glpreview "$(if $(filter file,$(origin GLPREVIEW)),.build/debug/glpreview,$(GLPREVIEW))"

check-api:
	@scripts/setup api
	$(if $(filter file,$(origin GLPREVIEW)),$(SWIFT_BUILD) --product glpreview)
	@scripts/check-api --cases "$(or $(CASES),2)" --seed "$(or $(SEED),1)" \
	  --glpreview "$(if $(filter file,$(origin GLPREVIEW)),.build/debug/glpreview,$(GLPREVIEW))"

check-stores: build-tests
	@scripts/setup api
	@scripts/check-stores

verify: build
	$(GLPREVIEW) verify

# --matrix among the flags is another program, with flags of its own.
bench: build
ifneq ($(filter --matrix,$(BENCH_FLAGS)),)
	@Benchmarks/matrix --json .build/bench-data/matrix.json $(filter-out --matrix,$(BENCH_FLAGS))
else
	@Benchmarks/compare --json .build/bench-data/results.json $(BENCH_FLAGS)
endif

bench-service: build
	@mkdir -p .build/bench-data
	@Benchmarks/Service/measure --json .build/bench-data/service.json $(BENCH_FLAGS)

bench-hostile: build
	@Benchmarks/Service/hostile $(BENCH_FLAGS)

gpu-kit: build
	@Benchmarks/gpu-kit/pack

test-gpu-kit: build-tests
	@scripts/setup deb-test
	@Benchmarks/gpu-kit/test

sbom: build
	@scripts/sbom

release-notes: build
	@scripts/sbom --notes out/release-notes.md

# The package of another release of Debian.
ifdef SUITE
deb:
	@scripts/setup deb-test
	@SUITE="$(SUITE)" SWIFT="$(SWIFT)" scripts/deb-suite
else
# The release build, or `make deb GLPREVIEW=...`. What writes the man pages is a tool of argument-parser, built with the same
# flags, so that nothing else is built again; its plugin (`swift package generate-manual`) has its own.
deb: $(if $(filter file,$(origin GLPREVIEW)),build)
	@scripts/setup deb
	$(SWIFT_BUILD) -c release $(BUILD_FLAGS) --product generate-manual
	@GLPREVIEW="$(GLPREVIEW)" scripts/deb
endif

test-deb: deb
	@scripts/setup deb-test
	@scripts/deb-test

install: build
	install -D -s -m 755 $(GLPREVIEW) $(DESTDIR)$(PREFIX)/bin/glpreview

# An existing configuration is left alone.
install-service:
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system $(DESTDIR)/etc/glpreview
	sed 's|/usr/local/bin/|$(PREFIX)/bin/|' packaging/glpreview.service \
	  > $(DESTDIR)$(PREFIX)/lib/systemd/system/glpreview.service
	test -e $(DESTDIR)/etc/glpreview/glpreview.yaml \
	  || install -m 644 packaging/glpreview.yaml $(DESTDIR)/etc/glpreview/glpreview.yaml

format:
	$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tests Examples

lint:
	$(SWIFT) format lint --strict --recursive --parallel Package.swift Sources Tests Examples

golden: setup
	GLPREVIEW_RECORD=missing $(SWIFT) test --filter Golden; git status --short Tests

clean:
	rm -rf .build out

# Everything a newcomer needs: `make demo` for a first verdict, `make check` after a change of Python
# code, `make test` for all of CI.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SOURCES := pyproject.toml requirements.txt native/Cargo.toml native/Cargo.lock \
           $(shell find native/crates -name '*.rs' -o -name Cargo.toml)

.PHONY: install demo check test test-native test-aarch64 test-sanitizers test-python test-units test-servers \
        test-readiness test-builds test-fleet bench-inspect lint lint-python lint-native format clean

install: $(STAMP)

# Packages are those of requirements.txt and no others, by their digests (scripts/lock-python).
# Editable, so that Python changes need no reinstall; Rust changes rebuild the binary.
$(STAMP): $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) and building assayer: a few minutes the first time"
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

demo: install
	$(BIN)/assay run quickstart

# What needs no server, no browser and no build.
check: install
	scripts/phases lint-python test-units

# What fails soonest is first. Phases do not overlap: tests of servers need the CPUs.
test: install
	scripts/install-test-tools
	scripts/phases lint-python test-units lint-native test-native test-servers test-aarch64

# Each test has a limit of its own (scripts/limit-tests).
NATIVE := --manifest-path native/Cargo.toml --release --locked --quiet --no-fail-fast
LIMITED := cargo test --config 'target."cfg(unix)".runner = "scripts/limit-tests"' $(NATIVE)
LOOM := primitives data-cache index log transactions

test-native:
	@echo "building the native tests and running them: some minutes the first time"
	$(LIMITED) --tests
	scripts/limit-tests cargo test $(NATIVE) --doc
	$(LIMITED) --test loom $(foreach crate,$(LOOM),-p assay-$(crate) --features assay-$(crate)/loom)

# Cross-built, run under qemu: behaviour, never time.
test-aarch64:
	scripts/test-aarch64

# The crates with unsafe code, under AddressSanitizer and ThreadSanitizer: x86-64 only, many minutes.
test-sanitizers:
	scripts/test-sanitizers

test-python: install
	scripts/phases test-units test-servers

# Two processes: these tests share nothing.
test-units:
	$(BIN)/python -m pytest -m 'not server and not large' --numprocesses 2 --dist worksteal

# Two processes, each file in one of them; then those that change values of the machine, alone.
test-servers:
	$(BIN)/python -m pytest -m 'server and not large and not host' --numprocesses 2 --dist loadfile
	$(BIN)/python -m pytest -m 'server and not large and host'

# The census against binutils on the large servers too: fetches their packages, a minute of objdump.
test-readiness: install
	$(BIN)/python -m pytest -m 'large or not large' tests/readiness

# Programs of shipped studies, built from the distribution's sources: some minutes.
test-builds: install
	$(BIN)/python -m pytest -m 'large or not large' tests/builds

# Clusters of Ray on loopback and between namespaces, which are killed: minutes, alone on the machine.
test-fleet: install
	$(BIN)/python -m pytest -m 'large or not large' tests/fleet

lint: install lint-python lint-native

lint-python:
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

lint-native:
	cargo fmt --manifest-path native/Cargo.toml --all --check
	cargo fmt --manifest-path native/peers/Cargo.toml --all --check
	cargo fmt --manifest-path native/fuzz/Cargo.toml --check
	cargo clippy --manifest-path native/Cargo.toml --release --locked --all-targets --quiet -- -D warnings

format: install
	$(BIN)/ruff check --fix src tests benchmarks
	$(BIN)/ruff format src tests benchmarks
	cargo fmt --manifest-path native/Cargo.toml --all
	cargo fmt --manifest-path native/peers/Cargo.toml --all
	cargo fmt --manifest-path native/fuzz/Cargo.toml

# Needs cargo-fuzz (native/fuzz/README.md). The stable compiler takes libFuzzer's flags if it is told to.
SECONDS ?= 60
fuzz-%:
	mkdir -p native/fuzz/artifacts/$*-corpus
	cd native && RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir fuzz $* fuzz/artifacts/$*-corpus \
	    fuzz/corpus/$* -- -max_total_time=$(SECONDS) -max_len=4096

# benchmarks/inspect.py would hide Python's own module of that name.
bench-inspect: install
	$(BIN)/python benchmarks/readiness.py

bench-%: install
	$(BIN)/python benchmarks/$(subst -,_,$*).py

clean:
	rm -rf $(VENV) build native/target src/*.egg-info

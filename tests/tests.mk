# SPDX-License-Identifier: MIT
# Tests: one binary for tests/unit and tests/laws, scripts in tests/cli; tests/run.sh runs both.

TEST_SRC := $(wildcard tests/unit/*.c tests/laws/*.c)
TEST_OBJ := $(TEST_SRC:%.c=$(B)/%.o)

.PHONY: check-unit check-cli check-stress check-build

# A build under a jobserver keeps it; otherwise all cores.
jobs = --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

run_tests = BUILD=$(B) CC='$(CC)' CUDA_INCLUDE='$(CUDA_INCLUDE)' tests/run.sh

$(B)/tests/unit/%.o $(B)/tests/laws/%.o: private CPPFLAGS += -Itests/unit $(DEPS_CPPFLAGS) \
    $(TRACER_TEST_CPPFLAGS)
$(B)/unit-tests: $(TEST_OBJ) $(TRACER_TEST_OBJ) $(B)/libspecter.a
	@echo "  LD      $@"
	$(Q)$(CC) -pie $(LINK) -o $@ $^ $(DEPS_LIBS) -lm -lpthread

## check: install what is missing, build, test (T=PATTERN chooses, UPDATE=1 rewrites goldens)
check:
	$(Q)scripts/setup.sh
	$(Q)+$(MAKE) $(jobs) check-build
	$(Q)$(run_tests) $(if $(UPDATE),--update) $(T)

check-build: all emu $(B)/unit-tests

## check-unit: the unit tests and laws only
check-unit: $(B)/unit-tests
	$(Q)$(run_tests) --unit $(T)

## check-cli: the command-line tests only
check-cli: check-build
	$(Q)$(run_tests) --cli $(if $(UPDATE),--update) $(T)

## check-stress: a million operations on 64 ranks, in one or two minutes
check-stress: check-build
	$(Q)BUILD=$(B) tests/stress/million.sh

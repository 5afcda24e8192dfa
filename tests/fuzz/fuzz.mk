# SPDX-License-Identifier: MIT
# Fuzzing: a binary for each of READERS, and for the targets of tests/fuzz/fuzz.h. Needs clang. Not
# for nsysrep, which hands the bytes to another program.

FUZZ_S       ?= 60
FUZZ_CC      ?= clang
FUZZ_SAN     := address,undefined
FUZZ_READERS := $(shell sed -n '/define READERS/,/[^\\]$$/s/.*X(\([a-z0-9_]*\)).*/\1/p' src/trace/reader.h)
FUZZ_ALL     := $(filter-out nsysrep,$(FUZZ_READERS)) input json pickle card measured bench closing profile
FUZZ         ?= $(FUZZ_ALL)

.PHONY: fuzz fuzz-build

## fuzz: FUZZ_S seconds of libFuzzer on each reader (FUZZ='jsonl json' chooses; clang); finds go to build/fuzz/found
fuzz:
	$(Q)+$(MAKE) $(jobs) fuzz-build CC=$(FUZZ_CC) SAN=fuzzer-no-link,$(FUZZ_SAN) B=build/fuzz
	$(Q)tests/fuzz/run.sh build/fuzz $(FUZZ_S) $(FUZZ)

fuzz-build: $(FUZZ:%=$(B)/tests/fuzz/fuzz-%)

$(B)/tests/fuzz/fuzz-%: tests/fuzz/fuzz.c tests/fuzz/fuzz.h $(B)/libspecter.a
	@mkdir -p $(@D)
	@echo "  FUZZ    $@"
	$(Q)$(CC) $(filter-out -MMD -MP,$(OPTIONS)) $(DEPS_CPPFLAGS) -Itests/fuzz -DFUZZ_TARGET='"$*"' \
	    -fsanitize=fuzzer,$(FUZZ_SAN) -o $@ $< $(B)/libspecter.a $(DEPS_LIBS) -lm -lpthread -ldl

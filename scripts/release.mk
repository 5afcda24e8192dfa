# SPDX-License-Identifier: MIT
# Builds for other systems than this one: old glibc, and aarch64.

.PHONY: release check-aarch64

## release: tarballs and wheels for x86_64 and aarch64, from glibc 2.28 on, in build/release
release:
	$(Q)env -u MAKEFLAGS scripts/release.sh

## check-aarch64: the tracer's own tests, cross-built, under qemu
check-aarch64:
	$(Q)env -u MAKEFLAGS scripts/check-aarch64.sh

# The unit tests of the tracer and of what it shares, without the libraries that the rest needs: streams
# (stream*.c) and sinks are compressed by zlib and zstd, and a tree (json_file.c) is cJSON's.
TRACER_UNIT := test test_elf_file test_json $(basename $(notdir $(wildcard tests/unit/test_tracer_*.c)))
$(B)/tracer-unit-tests: $(TRACER_UNIT:%=$(B)/tests/unit/%.o) $(TRACER_TEST_OBJ) \
                        $(patsubst %.c,$(B)/%.o,$(filter-out src/base/stream% src/base/sink.c src/base/json_file.c,\
                                                  $(wildcard src/base/*.c)))
	@echo "  LD      $@"
	$(Q)$(CC) -pie $(LINK) -o $@ $^ -lm -lpthread -ldl

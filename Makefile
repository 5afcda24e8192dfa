# SPDX-License-Identifier: MIT
# specter: `make help` lists the targets.
#
# V=1 shows commands; WERROR=1 is what CI uses; SAN=address,undefined (or thread) builds into a folder
# of its own, B=build/<name> into any other; WITHOUT_LIBS=1 builds without SQLite, zstd, libyaml,
# libxlsxwriter and the modules of MPI and gloo (scripts/deps.mk: without one of them). A changed
# compiler or flag rebuilds everything.

VERSION  := 0.1.0
CC       ?= cc
AR       ?= ar
prefix   ?= /usr/local
bindir   ?= $(prefix)/bin
libdir   ?= $(prefix)/lib
CFLAGS   ?= -O2 -g

comma    := ,
B        := build$(if $(SAN),/$(subst $(comma),-,$(SAN)))
Q        := $(if $(V),,@)

WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes \
            -Wwrite-strings -Wformat=2 $(if $(WERROR),-Werror)
HARDEN   := -fstack-protector-strong -U_FORTIFY_SOURCE $(if $(SAN),,-D_FORTIFY_SOURCE=2)
# More for src/ and profiles/, which read files of others; libspecter.so is left as it is, because its wrappers are
# timed (make bench-tracer). Flags that the compiler does not know are left out.
takes    = $(shell $(CC) -Werror $(1) -O2 -c -o /dev/null -x c /dev/null 2>/dev/null && echo '$(1)')
HARDEN_CLI := $(if $(SAN),,$(foreach f,-fstack-clash-protection -fcf-protection,$(call takes,$(f))) \
            -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
# The same bytes in any folder.
PREFIX_MAP := $(call takes,-ffile-prefix-map=$(CURDIR)=.) $(call takes,-Wa$(comma)--debug-prefix-map=$(CURDIR)=.)
# UBSan's null checks make gcc see format strings that are null.
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer \
            -Wno-format-truncation -Wno-unknown-warning-option)
OPTIONS  := -std=c11 -D_GNU_SOURCE -Iinclude -Isrc -MMD -MP $(WARN) $(HARDEN) $(PREFIX_MAP) $(CFLAGS) $(SANITIZE)
LINK     := $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN))

include scripts/deps.mk
$(if $(MPI),$(if $(MPI_FOUND),,$(error MPI=1 needs mpi.h and its compiler: apt-get install libopenmpi-dev, or MPICH)))

LIB_SRC  := $(filter-out src/cmd/%,$(wildcard src/*/*.c)) $(wildcard src/sim/*/*.c) \
            $(wildcard profiles/*.c) tracer/settings.c
CLI_SRC  := src/main.c $(wildcard src/cmd/*.c)
LIB_OBJ  := $(LIB_SRC:%.c=$(B)/%.o)
CLI_OBJ  := $(CLI_SRC:%.c=$(B)/%.o)

.PHONY: all check demo doc-examples fit install uninstall format help clean FORCE
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

include src/bench/modules/modules.mk
include src/report/page.mk

## all: build/specter, build/libspecter.so and the modules of `specter bench` (default); MPI=1: specter-mpi, too
all: $(B)/specter $(B)/libspecter.so $(MODULES) $(if $(MPI),$(B)/specter-mpi)

$(B)/libspecter.a: $(LIB_OBJ)
	@echo "  AR      $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# For modules alone: not every linker knows it.
EXPORTS := $(if $(or $(MPI_FOUND),$(GLOO_FOUND)),-Wl$(comma)--dynamic-list=src/bench/modules/exports.list)
$(B)/specter: $(CLI_OBJ) $(B)/libspecter.a src/bench/modules/exports.list
	@echo "  LD      $@"
	$(Q)$(CC) -pie -Wl,-z,relro,-z,now,-z,noexecstack $(EXPORTS) $(LINK) -o $@ \
	 $(filter %.o %.a,$^) $(DEPS_LIBS) -lm -lpthread -ldl

# The same program, of which ranks of MPI read the traces together.
$(B)/src/main_mpi.o: private CPPFLAGS += $(MPI_CPPFLAGS)
$(B)/specter-mpi: $(B)/src/main_mpi.o $(filter-out $(B)/src/main.o,$(CLI_OBJ)) $(B)/libspecter.a src/bench/modules/exports.list
	@echo "  LD      $@"
	$(Q)$(CC) -pie -Wl,-z,relro,-z,now,-z,noexecstack $(EXPORTS) $(LINK) -o $@ \
	 $(filter %.o %.a,$^) $(DEPS_LIBS) $(MPI_LIBS) -lm -lpthread -ldl

$(B)/src/%.o $(B)/profiles/%.o: private CPPFLAGS += -DSPECTER_VERSION='"$(VERSION)"' $(DEPS_CPPFLAGS) $(HARDEN_CLI)
$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(OPTIONS) -fPIE $(CPPFLAGS) -c -o $@ $<

flags    := $(subst $(CURDIR),.,$(CC) $(VERSION) $(OPTIONS) $(CPPFLAGS) $(DEPS_CPPFLAGS) $(HARDEN_CLI) $(LINK) $(DEPS_LIBS))
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(flags)' | cmp -s - $@ || echo '$(flags)' > $@

include tests/emu/emu.mk
include tracer/tracer.mk
include tests/tests.mk
include tests/fuzz/fuzz.mk
include tests/bench/bench.mk
include scripts/release.mk
include scripts/bundle.mk
include packaging/packaging.mk

## demo: build, then capture, analyze and replay an 8-rank training job without a GPU
demo:
	$(Q)scripts/setup.sh
	@mkdir -p $(B) && echo "demo: building, which takes a minute or two; $(B)/demo.log has the commands"
	$(Q)+$(MAKE) $(jobs) all emu >$(B)/demo.log 2>&1 || { tail -n 20 $(B)/demo.log; exit 1; }
	$(Q)BUILD=$(B) scripts/demo.sh

## doc-examples: renew what commands print in README.md, docs/ and examples/traces/
doc-examples: all emu
	$(Q)SPECTER=$(B)/specter scripts/doc-examples.sh README.md docs/cookbook.md docs/bench.md docs/predict.md docs/replay.md docs/sweep.md \
	    $(wildcard examples/traces/*/README.md)
	$(Q)BUILD=$(B) scripts/readme-session.sh

## fit: fitted parameters anew (profiles/fitted.def) from measured tables (MEASURED=DIR)
fit: all
	$(Q)BUILD=$(B) scripts/fit.sh

# Prints man pages and the like: another build of this version where this one is for another processor.
GENERATOR      ?= $(B)/specter
MAN             = $(DESTDIR)$(prefix)/share/man/man1
SCHEMAS         = $(DESTDIR)$(prefix)/share/specter/schemas
BASH_COMPLETION = $(DESTDIR)$(prefix)/share/bash-completion/completions
ZSH_COMPLETION  = $(DESTDIR)$(prefix)/share/zsh/site-functions
FISH_COMPLETION = $(DESTDIR)$(prefix)/share/fish/vendor_completions.d

## install: into DESTDIR, prefix, bindir, libdir, with man pages, JSON Schemas and completions for bash, zsh and fish
install: all
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(libdir)/specter $(DESTDIR)$(prefix)/include/specter
	install -m 755 $(B)/specter $(DESTDIR)$(bindir)/specter
	$(if $(MPI),install -m 755 $(B)/specter-mpi $(DESTDIR)$(bindir)/specter-mpi)
	install -m 755 $(B)/libspecter.so $(MODULES) $(DESTDIR)$(libdir)/specter/
	install -m 644 include/specter/*.h $(DESTDIR)$(prefix)/include/specter/
	install -d $(SCHEMAS) $(MAN) $(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION)
	install -m 644 share/schemas/*.json $(SCHEMAS)/
	for name in trace profiles card; do $(GENERATOR) help --schema $$name >$(SCHEMAS)/$$name.json || exit 1; done
	$(GENERATOR) help --man $(MAN)
	$(GENERATOR) help --completion bash >$(BASH_COMPLETION)/specter
	$(GENERATOR) help --completion zsh >$(ZSH_COMPLETION)/_specter
	$(GENERATOR) help --completion fish >$(FISH_COMPLETION)/specter.fish

## uninstall: what install put there
uninstall:
	rm -f $(DESTDIR)$(bindir)/specter $(DESTDIR)$(bindir)/specter-mpi
	rm -rf $(DESTDIR)$(libdir)/specter $(DESTDIR)$(prefix)/include/specter $(DESTDIR)$(prefix)/share/specter
	rm -f $(MAN)/specter.1 $(MAN)/specter-*.1 $(BASH_COMPLETION)/specter $(ZSH_COMPLETION)/_specter \
	    $(FISH_COMPLETION)/specter.fish

## format: clang-format every source file
format:
	clang-format -i $$(git ls-files '*.c' '*.h')

## clean: remove everything built; build/deps, which scripts/setup.sh made, stays
clean:
	rm -rf $(filter-out build/deps,$(wildcard build/*))

## help: this list
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST) | sort | sed 's/: /\t/' | expand -t 16

-include $(wildcard $(patsubst %,$(B)/%.d,*/* */*/* */*/*/*))

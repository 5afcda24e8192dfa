# SPDX-License-Identifier: MIT
# specter: `make help` lists the targets.
#
# SAN=address,undefined (or thread) builds into its own folder; CC chooses the compiler and also gets
# its own folder unless it is cc or gcc; V=1 shows commands; WERROR=1 is what CI uses.

VERSION  := 0.1.0
CC       ?= cc
AR       ?= ar
prefix   ?= /usr/local
bindir   ?= $(prefix)/bin
libdir   ?= $(prefix)/lib
mandir   ?= $(prefix)/share/man
CFLAGS   ?= -O2 -g

variant  := $(if $(filter-out cc gcc,$(CC)),-$(notdir $(CC)))$(if $(SAN),-$(subst $(comma),_,$(SAN)))
comma    := ,
B        := build$(if $(SAN)$(filter-out cc gcc,$(CC)),/$(or $(notdir $(CC)),cc)$(if $(SAN),-$(subst $(comma),_,$(SAN))))
Q        := $(if $(V),,@)

WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes \
            -Wwrite-strings -Wformat=2 $(if $(WERROR),-Werror)
HARDEN   := -fstack-protector-strong $(if $(SAN),,-D_FORTIFY_SOURCE=2)
BASE     := -std=c11 -D_GNU_SOURCE -Iinclude -Isrc -MMD -MP $(WARN) $(HARDEN) $(CFLAGS) \
            $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
LINK     := $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN))

include scripts/deps.mk

BASE_SRC := $(wildcard src/base/*.c)
LIB_SRC  := $(filter-out src/main.c src/cmd/%,$(wildcard src/*/*.c)) $(wildcard profiles/*.c)
CLI_SRC  := src/main.c $(wildcard src/cmd/*.c)
LIB_OBJ  := $(LIB_SRC:%.c=$(B)/%.o)
CLI_OBJ  := $(CLI_SRC:%.c=$(B)/%.o)

.PHONY: all check check-unit check-cli check-e2e demo bench install uninstall format help clean
.DEFAULT_GOAL := all

## all: build/specter and build/libspecter.so (default)
all: $(B)/specter $(B)/libspecter.so

$(B)/libspecter.a: $(LIB_OBJ)
	@echo "  AR      $@"
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/specter: private LDLIBS := $(DEPS_LIBS) -lm -lpthread
$(B)/specter: $(CLI_OBJ) $(B)/libspecter.a
	@echo "  LD      $@"
	$(Q)$(CC) -pie $(LINK) -o $@ $(CLI_OBJ) $(B)/libspecter.a $(LDLIBS)

$(B)/src/%.o $(B)/profiles/%.o: private CPPFLAGS += -DSPECTER_VERSION='"$(VERSION)"' $(DEPS_CPPFLAGS)
$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(BASE) -fPIE $(CPPFLAGS) -c -o $@ $<

# A changed compiler or flag rebuilds everything.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(BASE) $(DEPS_CPPFLAGS) $(VERSION) $(DEPS_LIBS)' | cmp -s - $@ || \
	 echo '$(CC) $(BASE) $(DEPS_CPPFLAGS) $(VERSION) $(DEPS_LIBS)' > $@
FORCE:

include tracer/tracer.mk
include tests/emu/emu.mk
include tests/tests.mk

## install: into DESTDIR, prefix, bindir, libdir
install: all
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(libdir)/specter $(DESTDIR)$(prefix)/include/specter
	install -m 755 $(B)/specter $(DESTDIR)$(bindir)/specter
	install -m 755 $(B)/libspecter.so $(DESTDIR)$(libdir)/specter/libspecter.so
	install -m 644 include/specter/*.h $(DESTDIR)$(prefix)/include/specter/

## uninstall: what install put there
uninstall:
	rm -f $(DESTDIR)$(bindir)/specter $(DESTDIR)$(libdir)/specter/libspecter.so
	rm -rf $(DESTDIR)$(prefix)/include/specter

## format: clang-format every source file
format:
	clang-format -i $$(git ls-files '*.c' '*.h')

## clean: remove everything built
clean:
	rm -rf build

## help: this list
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST) | sort | sed 's/: /\t/' | expand -t 16

-include $(shell find $(B) -name '*.d' 2>/dev/null)

# SPDX-License-Identifier: MIT
# libspecter.so: every C file of tracer/ and the names table of src/base. It needs libc and nothing
# else; CUDA, NCCL and cuBLAS headers are used where they are installed, tracer/abi/ elsewhere.
#
# In a sanitized build, libspecter.so stays plain, because it is loaded into programs that are not
# sanitized (shells, Python); libspecter-san.so beside it is what the tracer's own tests preload.

TRACER_SRC  := $(wildcard tracer/*.c)
TRACER_OBJ  := $(TRACER_SRC:%.c=$(B)/%.o) $(B)/tracer/words.o
TRACER_MAP  := $(B)/tracer/exports.map
TRACER_CPPFLAGS := $(if $(CUDA_INCLUDE),-isystem $(CUDA_INCLUDE) -idirafter tracer/abi,-Itracer/abi)
TRACER_PIC  := -fPIC -fvisibility=hidden $(TRACER_CPPFLAGS)

# What the unit tests link: the parts that are not wrappers, threads or a driver.
TRACER_TEST_OBJ := $(patsubst %,$(B)/tracer/%.o,ring ids format config file comm resolve clock warn kernel_class \
                     graph_ops timeline driver)
TRACER_TEST_CPPFLAGS := $(TRACER_CPPFLAGS)

$(B)/tracer/%.o: private CPPFLAGS += $(TRACER_PIC)
$(B)/tracer/words.o: src/base/words.c $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(BASE) $(TRACER_PIC) -c -o $@ $<

# The hooked functions and nothing else. The version node is anonymous: under a name of its own it
# would not match the versioned references to cuBLAS and cudart.
$(TRACER_MAP): $(B)/tracer/hooks.txt
	$(Q){ echo '{ global:'; awk '{ print $$2 ";" }' $<; echo 'local: *; };'; } > $@
# The table as a list, for the version script and for tests: a library and a function a line.
$(B)/tracer/hooks.txt: tracer/hooks.def $(wildcard tracer/hooks/*.def)
	@mkdir -p $(@D)
	$(Q)printf '#define HOOK(_lib, _ret, _fn, _params, _args, _record) HOOK _lib _fn\n#include "hooks.def"\n' | \
	   $(CC) -E -P -Itracer -xc - | tr -s ' \n' ' ' | sed 's/HOOK /\n/g' | awk 'NF == 2 { print $$1, $$2 }' > $@

tracer_so = @echo "  LD      $@"; $(CC) -shared $(LDFLAGS) $(1) -o $@ $(filter %.o,$^) \
 -Wl,--version-script=$(TRACER_MAP) -Wl,-soname,libspecter.so \
 -Wl,-z,nodelete,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed -lpthread -ldl

ifeq ($(SAN),)
$(B)/libspecter.so: $(TRACER_OBJ) $(TRACER_MAP)
	$(call tracer_so,-z defs)
else
$(B)/libspecter.so: $(TRACER_OBJ:$(B)/tracer/%=$(B)/tracer/plain/%) $(TRACER_MAP)
	$(call tracer_so,-z defs)
$(B)/libspecter-san.so: $(TRACER_OBJ) $(TRACER_MAP)
	$(call tracer_so,-fsanitize=$(SAN))
all: $(B)/libspecter-san.so

tracer_plain = @mkdir -p $(@D); echo "  CC      $<"; \
 $(CC) $(BASE) $(TRACER_PIC) -fno-sanitize=all -c -o $@ $<
$(B)/tracer/plain/words.o: src/base/words.c $(B)/flags
	$(tracer_plain)
$(B)/tracer/plain/%.o: tracer/%.c $(B)/flags
	$(tracer_plain)
endif

# Programs of the tracer's tests: calls to trace, over the stand-ins of tests/emu, and a check of
# trace files against include/specter/trace.h.
TRACER_TESTS := $(B)/tracer/calls $(B)/tracer/work $(B)/tracer/check_trace
check-build: $(TRACER_TESTS)

$(B)/tracer/calls $(B)/tracer/work: $(B)/tracer/%: tests/tracer/%.c tests/tracer/calls.h $(B)/flags | emu
	@mkdir -p $(@D)
	@echo "  CC      $@"
	$(Q)$(CC) $(EMU_FLAGS) $(TRACER_CPPFLAGS) -Itests/emu -MF $@.d -o $@ $< $(EMU_USE) -l:libcuda.so.1 \
	 -lpthread
$(B)/tracer/check_trace: tests/tracer/check_trace.c $(B)/libspecter.a $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC      $@"
	$(Q)$(CC) $(BASE) -MF $@.d $(LINK) -o $@ $< $(B)/libspecter.a

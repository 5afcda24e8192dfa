# SPDX-License-Identifier: MIT
# libspecter.so: every C file of tracer/ and the names of src/base. It needs libc and nothing
# else; CUDA, NCCL and cuBLAS headers are used where they are installed, tracer/abi/ elsewhere.
#
# In a sanitized build, libspecter.so stays plain, because it is loaded into programs that are not
# sanitized (shells, Python); libspecter-san.so beside it is what the tracer's own tests preload.

TRACER_BASE := names kernel_class
TRACER_SRC  := $(wildcard tracer/*.c tracer/*.S)
TRACER_OBJ  := $(addprefix $(B)/,$(addsuffix .o,$(basename $(TRACER_SRC)))) $(TRACER_BASE:%=$(B)/tracer/%.o)
TRACER_MAP  := $(B)/tracer/exports.map
TRACER_CPPFLAGS := $(if $(CUDA_INCLUDE),-isystem $(CUDA_INCLUDE) -idirafter tracer/abi,-Itracer/abi)
TRACER_PIC  := -fPIC -fvisibility=hidden $(TRACER_CPPFLAGS)

# The parts that the unit tests link: those that are not wrappers, threads or a driver.
TRACER_TEST_OBJ := $(patsubst %,$(B)/tracer/%.o,ids format format_value config settings file flight filter comm memory \
    comm_table process resolve objects as_caller as_caller_jump loader pending elf clock warn graph_ops \
    op_sums timeline driver)
TRACER_TEST_CPPFLAGS := $(TRACER_CPPFLAGS)

# The parts that run in a program's dlsym(), which a sanitizer calls before it is ready for our checks.
TRACER_EARLY := $(patsubst %,$(B)/tracer/%.o,dlsym dlsym_entry as_caller as_caller_jump elf loader)

$(B)/tracer/%.o: private CPPFLAGS += $(TRACER_PIC)
$(TRACER_EARLY): private CPPFLAGS += -fno-sanitize=all
# clang's AddressSanitizer refers to a function by its own name for what it knows of the stack, which the
# linker takes for the exported version of that name, and refuses.
ifneq ($(and $(findstring address,$(SAN)),$(findstring clang,$(CC))),)
$(B)/tracer/hooks.o $(B)/tracer/lookup.o: private CPPFLAGS += -mllvm -asan-stack=0
endif
$(B)/tracer/%.o: tracer/%.S $(B)/flags
	@mkdir -p $(@D)
	@echo "  AS      $<"
	$(Q)$(CC) $(OPTIONS) -U_FORTIFY_SOURCE -fPIC $(TRACER_CPPFLAGS) -c -o $@ $<
$(B)/tracer/dlsym.o: private CPPFLAGS += -I$(B)/tracer
$(B)/tracer/dlsym.o $(B)/tracer/plain/dlsym.o: $(B)/tracer/hooks_sorted.h
$(TRACER_BASE:%=$(B)/tracer/%.o): $(B)/tracer/%.o: src/base/%.c $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(OPTIONS) $(TRACER_PIC) -c -o $@ $<

# The code says which functions are exported (tracer/hooks.h); the one version is named here.
$(TRACER_MAP): tracer/hooks.h
	@mkdir -p $(@D)
	$(Q)echo 'SPECTER { local: versioned_*; };' > $@
# The hooked functions and the names of exports.def, for a test that there is nothing else.
$(B)/tracer/exports.txt: $(B)/tracer/hooks.txt tracer/exports.def tracer/dlsym.h
	$(Q){ awk '{ print $$2 }' $<; printf '#define EXPORT(_name) EXPORT _name\n#include "exports.def"\n' | \
	   $(CC) -E -P -D__ASSEMBLER__ -Itracer -xc - | awk '$$1 == "EXPORT" { print $$2 }'; } | LC_ALL=C sort > $@
# In the order of strcmp(), for dlsym.c.
$(B)/tracer/hooks_sorted.h: $(B)/tracer/hooks.txt
	$(Q)LC_ALL=C sort -k2,2 $< | awk '{ print "SORTED(" $$2 ")" }' > $@
# The table as a list, for the version script and for tests: a library and a function a line.
$(B)/tracer/hooks.txt: tracer/hooks.def $(wildcard tracer/hooks/*)
	@mkdir -p $(@D)
	$(Q)printf '#define HOOK(_lib, _ret, _fn, _params, _args, _record) HOOK _lib _fn\n#include "hooks.def"\n' | \
	   $(CC) -E -P -Itracer -xc - | tr -s ' \n' ' ' | sed 's/HOOK /\n/g' | awk 'NF == 2 { print $$1, $$2 }' > $@

# zig's linker, which `make release` uses, does not know the option.
SEPARATE_CODE := $(if $(findstring ziglang,$(CC)),,$(comma)-z$(comma)separate-code)
tracer_so = @echo "  LD      $@"; $(CC) -shared $(LDFLAGS) $(1) -o $@ $(filter %.o,$^) \
 -Wl,--version-script=$(TRACER_MAP) -Wl,-soname,libspecter.so \
 -Wl,-z,nodelete,-z,relro,-z,now,-z,noexecstack$(SEPARATE_CODE),--hash-style=gnu -Wl,--as-needed -lpthread -ldl

ifeq ($(SAN),)
$(B)/libspecter.so: $(TRACER_OBJ) $(TRACER_MAP) | $(B)/tracer/exports.txt
	$(call tracer_so,-z defs)
else
$(B)/libspecter.so: $(TRACER_OBJ:$(B)/tracer/%=$(B)/tracer/plain/%) $(TRACER_MAP) | $(B)/tracer/exports.txt
	$(call tracer_so,-z defs)
$(B)/libspecter-san.so: $(TRACER_OBJ) $(TRACER_MAP)
	$(call tracer_so,-fsanitize=$(SAN))
all: $(B)/libspecter-san.so

tracer_plain = @mkdir -p $(@D); echo "  CC      $<"; \
 $(CC) $(OPTIONS) $(TRACER_PIC) -I$(B)/tracer -fno-sanitize=all -c -o $@ $<
$(TRACER_BASE:%=$(B)/tracer/plain/%.o): $(B)/tracer/plain/%.o: src/base/%.c $(B)/flags
	$(tracer_plain)
$(B)/tracer/plain/%.o: tracer/%.c $(B)/flags
	$(tracer_plain)
$(B)/tracer/plain/%.o: tracer/%.S $(B)/flags
	$(tracer_plain)
endif

# Programs of the tracer's tests, over the stand-ins of tests/emu; and a check of trace files against
# include/specter/trace.h.
TRACER_NVTX     := $(wildcard $(CUDA_INCLUDE)/nvtx3/nvToolsExt.h)
TRACER_PROGRAMS := $(patsubst tests/tracer/%.c,$(B)/tracer/%, \
    $(filter-out %/runtime.c $(if $(TRACER_NVTX),,%/nvtx_calls.c),$(wildcard tests/tracer/*.c)))
check-build: $(TRACER_PROGRAMS)

$(B)/tracer/%: tests/tracer/%.c $(B)/flags | $(EMU_LIBS)
	@mkdir -p $(@D)
	@echo "  CC      $@"
	$(Q)$(CC) $(EMU_FLAGS) $(TRACER_CPPFLAGS) -Itracer -Itests/emu -MF $@.d -o $@ $< $(EMU_USE) -l:libcuda.so.1 -lpthread -ldl
# Over libraries that do nothing (tests/bench/bench.mk).
TRACER_INSTANT := $(patsubst %,$(B)/tracer/%,instant many_comms filtered thread_ends late_calls loader_errors)
$(TRACER_INSTANT): $(B)/tracer/%: tests/tracer/%.c $(B)/bench/lib/libnccl.so.2 $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC      $@"
	$(Q)$(CC) $(EMU_FLAGS) $(TRACER_CPPFLAGS) -MF $@.d -o $@ $(filter %.c %.so.2,$^) -lpthread -ldl
# Over the stand-ins of ROCm.
$(B)/tracer/rccl_calls: tests/tracer/rccl_calls.c $(B)/flags | $(ROCM_LIB)/librccl.so.1
	@mkdir -p $(@D)
	@echo "  CC      $@"
	$(Q)$(CC) $(EMU_FLAGS) $(TRACER_CPPFLAGS) -MF $@.d -o $@ $< -L$(ROCM_LIB) -l:librccl.so.1 \
	 -l:libamdhip64.so.6
$(B)/tracer/check_trace: tests/tracer/check_trace.c $(B)/libspecter.a $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC      $@"
	$(Q)$(CC) $(OPTIONS) -MF $@.d $(LINK) -o $@ $< $(B)/libspecter.a

# Programs that find the libraries in other ways than by linking, and one that links.
LOOKUPS := $(B)/tracer/lookups $(B)/tracer/steps $(B)/tracer/libsteps.so $(B)/tracer/libruntime.so
check-build: $(LOOKUPS)
$(LOOKUPS): tests/tracer/steps.h $(B)/flags | $(EMU_LIBS)

lookups_cc = @mkdir -p $(@D); echo "  CC      $@"; \
 $(CC) $(EMU_FLAGS) $(TRACER_CPPFLAGS) -MF $@.d -o $@ $<
$(B)/tracer/lookups: tests/tracer/lookups.c
	$(lookups_cc) -ldl -lpthread
$(B)/tracer/steps: tests/tracer/steps.c
	$(lookups_cc) -DSTEPS_PROGRAM $(EMU_USE)
$(B)/tracer/libruntime.so: tests/tracer/runtime.c
	$(lookups_cc) -fPIC -shared -fvisibility=hidden -ldl -lpthread
$(B)/tracer/libsteps.so: tests/tracer/steps.c
	$(lookups_cc) -fPIC -shared $(EMU_USE)

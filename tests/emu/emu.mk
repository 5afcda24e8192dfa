# SPDX-License-Identifier: MIT
# The stand-in GPU stack (tests/emu/README.md), the training example and the programs that test both.
#
# Built without sanitizers even in a SAN build, because it is loaded into programs that are not
# (Python); fortify and the warnings stay.

EMU_ABI    := $(if $(CUDA_INCLUDE),-isystem $(CUDA_INCLUDE),-Itracer/abi)
EMU_FLAGS  := -std=c11 -D_GNU_SOURCE -Iinclude -MMD -MP $(WARN) -fstack-protector-strong \
              -D_FORTIFY_SOURCE=2 -O2 -g $(EMU_ABI)
EMU_LIB    := $(B)/emu/lib
EMU_LINK   := -L$(EMU_LIB) -Wl,--no-as-needed
EMU_CUDA   := $(EMU_LINK) $(EMU_LIB)/libcuda.so.1
EMU_LIBS   := $(addprefix $(EMU_LIB)/,libcuda.so.1 libcudart.so.13 libcublasLt.so.13 \
              libcublas.so.13 libnccl.so.2 libnvidia-ml.so.1 libcupti.so.13)
EMU_TESTS  := $(patsubst tests/emu/check_%.c,$(B)/emu/check_%,$(wildcard tests/emu/check_*.c))

.PHONY: emu
## emu: the stand-in GPU libraries and the examples, in build/emu and build/examples
emu: $(EMU_LIBS) $(B)/emu/libemuext.so $(B)/emu/dlopen_local $(EMU_TESTS) $(B)/tests/gpu/facts

emu_so = @echo "  LD      $@"; mkdir -p $(@D) && \
 $(CC) -shared -Wl,-z,defs -Wl,-soname,$(@F) -Wl,--version-script=tests/emu/map/$(1).map -o $@ \
 $(filter %.o,$^) $(2) -lm -lpthread -ldl

$(B)/emu/obj/%.o: tests/emu/%.c $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(EMU_FLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

emu_obj = $(patsubst %,$(B)/emu/obj/%.o,$(1))

$(EMU_LIB)/libcuda.so.1: $(call emu_obj,cuda cuda_graph device attribute alloc entry module function image image_elf \
                                    image_ptx kernel context stream event engine capture graph copy memory \
                                    thread lane calendar compute fabric listen heat gpus) \
                         tests/emu/map/cuda.map
	$(call emu_so,cuda)
$(EMU_LIB)/libcudart.so.13: $(call emu_obj,cudart cudart_stream cudart_memory cudart_copy cudart_kernel \
                                      cudart_graph) tests/emu/map/cudart.map \
                            $(EMU_LIB)/libcuda.so.1
	$(call emu_so,cudart,$(EMU_CUDA))
$(EMU_LIB)/libcublasLt.so.13: $(call emu_obj,cublaslt gemm number) tests/emu/map/cublasLt.map \
                              $(EMU_LIB)/libcuda.so.1
	$(call emu_so,cublasLt,$(EMU_CUDA))
# As the real one, which calls its own functions directly.
$(EMU_LIB)/libcublas.so.13: $(call emu_obj,cublas absent) tests/emu/map/cublas.map \
                            $(EMU_LIB)/libcublasLt.so.13 $(EMU_LIB)/libcuda.so.1
	$(call emu_so,cublas,-Wl$(comma)-Bsymbolic $(EMU_CUDA) $(EMU_LIB)/libcublasLt.so.13)
$(EMU_LIB)/libnccl.so.2: $(call emu_obj,nccl nccl_calls nccl_memory group comm job launch message segment settle collective tuning number \
                                    calendar stall profiler) \
                         tests/emu/map/nccl.map $(EMU_LIB)/libcuda.so.1
	$(call emu_so,nccl,$(EMU_CUDA))
$(EMU_LIB)/libnvidia-ml.so.1: $(call emu_obj,nvml nvml_topology) tests/emu/map/nvml.map $(EMU_LIB)/libcuda.so.1
	$(call emu_so,nvml,$(EMU_CUDA))
$(EMU_LIB)/libcupti.so.13: $(call emu_obj,cupti cupti_activity cupti_buffer cupti_callback cupti_clock) \
                           tests/emu/map/cupti.map $(EMU_LIB)/libcuda.so.1
	$(call emu_so,cupti,$(EMU_CUDA))

# RCCL and HIP, in a folder of their own: a process has the one stack or the other.
ROCM_LIB := $(B)/emu/rocm/lib
emu: $(ROCM_LIB)/librccl.so.1
$(ROCM_LIB)/libamdhip64.so.6: $(call emu_obj,rocm/hip) tests/emu/map/rocm.map
	$(call emu_so,rocm)
$(ROCM_LIB)/librccl.so.1: $(call emu_obj,rocm/rccl) tests/emu/map/rocm.map $(ROCM_LIB)/libamdhip64.so.6
	$(call emu_so,rocm,-L$(ROCM_LIB) -l:libamdhip64.so.6)

# Programs are linked against the stand-ins and find them, or the real ones, by LD_LIBRARY_PATH.
EMU_USE := $(EMU_LINK) -Wl,--allow-shlib-undefined $(EMU_LIB)/libnccl.so.2 $(EMU_LIB)/libcublas.so.13 \
           $(EMU_LIB)/libcublasLt.so.13 $(EMU_LIB)/libcudart.so.13

$(B)/emu/libemuext.so: tests/emu/ext.c $(EMU_LIBS) $(B)/flags
	@echo "  CC      $@"
	$(Q)$(CC) $(EMU_FLAGS) -MF $@.d -fPIC -shared -o $@ $< $(EMU_USE) -lm -ldl
# Linked against none of the libraries.
$(B)/emu/dlopen_local $(B)/emu/check_clocks: $(B)/emu/%: tests/emu/%.c $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC      $@"
	$(Q)$(CC) $(EMU_FLAGS) -MF $@.d -o $@ $< -ldl
# A library that the stand-ins take for the tracer by its name.
$(B)/emu/libspecter_probe.so: tests/emu/probe.c $(EMU_LIBS) $(B)/flags
	@echo "  CC      $@"
	$(Q)$(CC) $(EMU_FLAGS) -MF $@.d -fPIC -shared -o $@ $< $(EMU_CUDA)
$(B)/emu/check_%: tests/emu/check_%.c $(B)/emu/obj/number.o $(B)/emu/libspecter_probe.so $(B)/flags
	@echo "  CC      $@"
	$(Q)$(CC) $(EMU_FLAGS) -MF $@.d -o $@ $(filter %.c %.o,$^) $(EMU_USE) -l:libcuda.so.1 -ldl \
	 -L$(B)/emu -l:libspecter_probe.so -Wl,-rpath,'$$ORIGIN' -lm -lpthread
$(B)/emu/check_calendar: $(B)/emu/obj/calendar.o
$(B)/emu/check_cupti: private EMU_USE += -l:libcupti.so.13
$(B)/emu/check_chain: $(B)/emu/obj/collective.o $(B)/emu/obj/calendar.o
EXAMPLES := $(B)/examples/train
$(B)/examples/train: $(wildcard examples/train*.c) examples/start.c
$(EXAMPLES): $(wildcard examples/*.h) $(EMU_LIBS) $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC      $@"
	$(Q)$(CC) $(EMU_FLAGS) -o $@ $(filter %.c,$^) $(EMU_USE) -lm -ldl
emu: $(EXAMPLES)

# Parallel programs beside the training example (tests/parallel/programs.h).
PROGRAMS := $(B)/emu/programs
$(PROGRAMS): $(wildcard tests/parallel/*.c) examples/start.c $(wildcard tests/parallel/*.h) examples/start.h \
             $(EMU_LIBS) $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC      $@"
	$(Q)$(CC) $(EMU_FLAGS) -Iexamples -Itests/emu -o $@ $(filter %.c,$^) $(EMU_USE) -l:libcuda.so.1 -lm -ldl
emu: $(PROGRAMS)

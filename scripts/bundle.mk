# SPDX-License-Identifier: MIT
# The GPU suite as one archive that runs on a machine without the repository, a compiler and git
# (tests/gpu/README.md).

# Small C programs of the suite: each tests/gpu/NAME.c, and each folder there with a main.c. They open CUDA's
# libraries at run time.
GPU_PROGRAMS := $(patsubst tests/gpu/%.c,%,$(wildcard tests/gpu/*.c)) \
                $(patsubst tests/gpu/%/main.c,%,$(wildcard tests/gpu/*/main.c))

.PHONY: gpu-programs gpu-bundle gpu-bundle-here
gpu-programs: $(GPU_PROGRAMS:%=$(B)/tests/gpu/%)

define gpu_program
$(B)/tests/gpu/$(1): $(wildcard tests/gpu/$(1).c tests/gpu/$(1)/*.c) $(wildcard tests/gpu/$(1)/*.h tests/gpu/$(1)/*.def) $(B)/flags
	@mkdir -p $$(@D)
	@echo "  CC      $$@"
	$$(Q)$$(CC) -std=c11 -D_GNU_SOURCE -O2 $$(WARN) -Iinclude -Itracer/abi -o $$@ $$(filter %.c,$$^) -lm -lpthread -ldl
endef
$(foreach p,$(GPU_PROGRAMS),$(eval $(call gpu_program,$(p))))

# The command line as it travels: what it links and libc does not have lies in lib/ beside it.
$(B)/bundle/specter: $(CLI_OBJ) $(B)/libspecter.a
	@mkdir -p $(@D)
	@echo "  LD      $@"
	$(Q)$(CC) -pie -Wl,-z,relro,-z,now,-rpath,'$$ORIGIN/lib' $(LINK) -o $@ $^ $(DEPS_LIBS) -lm -lpthread -ldl

$(B)/gpu-bundle.tar.gz: $(B)/bundle/specter $(B)/libspecter.so $(EMU_LIBS) $(EXAMPLES) $(GPU_PROGRAMS:%=$(B)/tests/gpu/%) \
                        scripts/gpu-bundle.sh $(shell find tests/gpu tests/emu/fabric -type f -not -name '*.pyc') \
                        examples/launch.sh src/base/kernel_class.c
	$(Q)VERSION=$(VERSION) scripts/gpu-bundle.sh --assemble $(B) $(GPU_PROGRAMS)
gpu-bundle-here: $(B)/gpu-bundle.tar.gz

## gpu-bundle: the GPU suite with all that it needs on a machine without compiler and git, in build/gpu-bundle.tar.gz
gpu-bundle:
	$(Q)env -u MAKEFLAGS scripts/gpu-bundle.sh

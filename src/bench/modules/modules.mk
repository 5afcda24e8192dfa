# SPDX-License-Identifier: MIT
# Modules beside the program, one a library of collectives that `specter bench` can measure: built
# where the library's headers are (scripts/deps.mk). What they share with the program they take from
# it (exports.list). nccl_choice is none of them: NCCL opens it, and says there what it takes.

MODULES       := $(B)/specter_bench_nccl_choice.so $(if $(MPI_FOUND),$(B)/specter_bench_mpi.so) $(if $(GLOO_FOUND),$(B)/specter_bench_gloo.so)
MODULE_FLAGS  := -fPIC -fvisibility=hidden

$(B)/src/bench/modules/%.o: private CPPFLAGS += $(MODULE_FLAGS)
$(B)/src/bench/modules/mpi.o: private CPPFLAGS += $(MPI_CPPFLAGS)
$(B)/src/bench/modules/%.o: src/bench/modules/%.cc $(B)/flags
	@mkdir -p $(@D)
	@echo "  CXX     $<"
	$(Q)$(CXX) -std=c++17 -O2 -g -Wall -Wextra $(if $(WERROR),-Werror) -Iinclude -Isrc -MMD -MP \
	 $(MODULE_FLAGS) $(DEPS_CPPFLAGS) -c -o $@ $<

$(B)/specter_bench_mpi.so: private MODULE_LIBS := $(MPI_LIBS) -lpthread
$(B)/specter_bench_gloo.so: private MODULE_LIBS := -lgloo -lstdc++
$(B)/specter_bench_nccl_choice.so: $(B)/src/bench/modules/nccl_choice.o
$(B)/specter_bench_mpi.so: $(patsubst %,$(B)/src/bench/modules/%.o,mpi host)
$(B)/specter_bench_gloo.so: $(patsubst %,$(B)/src/bench/modules/%.o,gloo gloo_library host)
$(B)/specter_bench_%.so:
	@echo "  LD      $@"
	$(Q)$(CC) -shared -Wl,-z,relro,-z,now $(LINK) -o $@ $^ $(MODULE_LIBS)

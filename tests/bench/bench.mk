# SPDX-License-Identifier: MIT
# Benchmarks: each prints a table and ends with one line of JSON.

BENCHES     := $(B)/bench/bench_model $(B)/bench/bench_replay $(B)/bench/bench_read

.PHONY: bench-tracer
## bench-tracer: what a traced call costs, beside a naive tracer; peak memory
bench-tracer: $(B)/libspecter.so $(B)/bench/calls $(B)/bench/libnaive.so
	$(Q)BUILD=$(B) tests/bench/tracer.sh

.PHONY: bench-model
## bench-model: collective predictions a second on one core
bench-model: $(B)/bench/bench_model
	$(Q)$(B)/bench/bench_model

.PHONY: bench-replay
## bench-replay: the simulation's operations a second, time and memory at 1,024 ranks and more
bench-replay: $(B)/bench/bench_replay
	$(Q)$(B)/bench/bench_replay

.PHONY: bench-read
## bench-read: MB/s of the trace readers, beside cJSON and Python; memory; 1,000 files
bench-read: all $(B)/bench/bench_read $(B)/bench/grow emu
	$(Q)BUILD=$(B) tests/bench/read.sh

check-build: $(B)/bench/calls $(B)/bench/libnaive.so $(B)/bench/grow $(B)/bench/summaries $(BENCHES) # so that they do not rot

BENCH_FLAGS := $(EMU_FLAGS) $(TRACER_CPPFLAGS) -Wno-unused-parameter
BENCH_HOOKS := tracer/hooks/nccl.def tracer/hooks/cublas.def
BENCH_LIBS  := $(B)/bench/lib/libnccl.so.2 $(B)/bench/lib/libcublas.so.13

$(BENCH_LIBS): tests/bench/stub.c $(BENCH_HOOKS) $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC      $@"
	$(Q)$(CC) $(BENCH_FLAGS) -MF $@.d -fPIC -shared -Wl,-soname,$(@F) \
	 -DSTUB_$(if $(findstring nccl,$@),NCCL,CUBLAS) -o $@ $<
$(B)/bench/libnaive.so: tests/bench/naive.c src/base/names.c $(BENCH_HOOKS) $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC      $@"
	$(Q)$(CC) $(BENCH_FLAGS) -MF $@.d -Isrc -fPIC -shared -o $@ $(filter %.c,$^) -ldl -lpthread
$(B)/bench/calls: tests/bench/calls.c $(BENCH_LIBS) $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC      $@"
	$(Q)$(CC) $(BENCH_FLAGS) -MF $@.d -o $@ $< $(BENCH_LIBS) -lpthread
$(B)/tests/bench/bench_%.o: private CPPFLAGS += $(DEPS_CPPFLAGS)
$(BENCHES): $(B)/bench/%: $(B)/tests/bench/%.o $(B)/libspecter.a
	@mkdir -p $(@D)
	@echo "  LD      $@"
	$(Q)$(CC) -pie $(LINK) -o $@ $^ $(DEPS_LIBS) -lm -lpthread

$(B)/bench/grow: tests/bench/grow.c $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC      $@"
	$(Q)$(CC) $(OPTIONS) -MF $@.d -o $@ $<

.PHONY: bench-page
## bench-page: first paint and zoom of the page of 64 ranks x 10,000 operations, in a browser
bench-page: $(B)/specter
	$(Q)BUILD=$(B) tests/bench/page.sh

.PHONY: bench-sweep
## bench-sweep: points of `specter sweep` a second, beside their simulation
bench-sweep: $(B)/specter
	$(Q)BUILD=$(B) tests/bench/sweep.sh

.PHONY: bench-compare
## bench-compare: what `specter compare` takes beyond loading, 64 ranks with 10,000 operations a side
bench-compare: all emu
	$(Q)BUILD=$(B) tests/bench/compare.sh

LOOPS := $(if $(MPI_FOUND),$(B)/bench/loop_mpi) $(if $(GLOO_FOUND),$(B)/bench/loop_gloo)
.PHONY: bench-collective
## bench-collective: a 1 MiB AllReduce of MPI and gloo as `specter bench` times it, beside a plain loop
bench-collective: all $(LOOPS)
	$(Q)BUILD=$(B) tests/bench/collective.sh
$(B)/bench/loop_mpi: tests/bench/loop_mpi.c $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC      $@"
	$(Q)$(CC) $(OPTIONS) $(MPI_CPPFLAGS) -MF $@.d -o $@ $< $(MPI_LIBS)
$(B)/bench/loop_gloo: tests/bench/loop_gloo.cc $(B)/flags
	@mkdir -p $(@D)
	@echo "  CXX     $@"
	$(Q)$(CXX) -std=c++17 -O2 -g -Wall -Wextra -o $@ $< -lgloo

.PHONY: bench-watch
## bench-watch: what `specter watch` takes of a core while 8 ranks write
bench-watch: all emu $(B)/bench/grow $(B)/tracer/hang
	$(Q)BUILD=$(B) tests/bench/watch.sh

.PHONY: bench-python
## bench-python: what the Python module adds to a command, in ms
bench-python: $(B)/specter
	$(Q)BUILD=$(B) tests/bench/python.sh

.PHONY: bench-merge
## bench-merge: traces read by one rank of MPI, by two, and by threads
bench-merge: all $(B)/specter-mpi $(B)/bench/grow
	$(Q)BUILD=$(B) tests/bench/merge.sh

.PHONY: bench-summaries
## bench-summaries: `specter analyze --summary` of 100,000 ranks: seconds and peak memory (RANKS=N)
bench-summaries: $(B)/specter $(B)/bench/summaries
	$(Q)BUILD=$(B) tests/bench/summaries.sh $(RANKS)
$(B)/bench/summaries: tests/bench/summaries.c $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC      $@"
	$(Q)$(CC) $(OPTIONS) -MF $@.d -o $@ $<

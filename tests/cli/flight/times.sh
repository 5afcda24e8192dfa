# A job that went well, with TORCH_NCCL_ENABLE_TIMING=1: durations and no starts. All-reduce of
# 4 MB in 0.2 ms is 20 GB/s, 2*3/4 of it 30 GB/s on the bus.
. "$ROOT/tests/cli/flight/flight.bash"
for r in {0..3}; do
    begin "$r" 4
    call all_reduce 1000000 completed 0.$((2 + r))
    finish
done
figures dumps

# Bandwidths without one start: 1 MB in 100 us (the faster of two ranks) all-reduced by two is
# 10 GB/s on the bus; a gather of 0.5 MB a rank in 50 us is 20 GB/s, 10 on the bus. NCCL numbers
# all-reduces and gathers apart: both have a number 0.
. "$ROOT/tests/cli/inspector/inspector.bash"
for r in 0 1; do
    {
        coll $r AllReduce 0 1000000 $((100 + 20 * r))
        coll $r AllReduce 3 2000000 150
        coll $r AllGather 0 500000 $((50 + 10 * r))
        coll $r ReduceScatter 1 500000 70 kernel_cpu
    } >logs/node0-pid10$r.log
done
message 0 Send 1 100000 25 >>logs/node0-pid100.log
message 1 Recv 0 100000 25 >>logs/node0-pid101.log
figures logs
# The message is one, though both ends tell of it.
"$SPECTER" analyze --full logs --format csv --table pairs 2>/dev/null | cut -d, -f1-6

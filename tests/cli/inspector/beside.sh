# Beside a profiler's trace, which says more: the first of the formats is read, the rest is named.
. "$ROOT/tests/cli/inspector/inspector.bash"
. "$ROOT/tests/cli/flight/flight.bash"
coll 0 AllReduce 0 1000000 100 >logs/node0-pid100.log
begin 0 2
call all_reduce 1024 completed
finish
mv dumps/nccl_trace_rank_0 logs/
"$SPECTER" analyze --full logs 2>&1 >/dev/null | grep aside
cp "$ROOT"/tests/data/kineto_two_ranks/* logs/
"$SPECTER" analyze --full logs 2>&1 >/dev/null | grep aside

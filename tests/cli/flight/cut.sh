# A dump that was cut off: the entries before that count, and the loss is told.
. "$ROOT/tests/cli/flight/flight.bash"
begin 0 2
call all_reduce 1024 completed 0.1
call all_reduce 1024 completed 0.1
finish
head -c 700 dumps/nccl_trace_rank_0 >dumps/cut && mv dumps/cut dumps/nccl_trace_rank_0
figures dumps

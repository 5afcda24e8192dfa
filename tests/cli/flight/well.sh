# Dumps of a job that is well, taken in passing: what all have called is under way, whether it runs
# or stands behind something that runs. A rank that was dumped a moment before the others has not
# called their last one, or not finished what they have: that may be a hang. What the dumps show to be
# a second old is one, unless the rank that is missing called something else meanwhile.
. "$ROOT/tests/cli/flight/flight.bash"
# job FIRST_STATE SECOND_STATE [RANK_WITHOUT_THE_SECOND]: 8 ranks
job() {
    rm -f dumps/*
    for r in {0..7}; do
        begin "$r"
        call all_reduce 1024 completed
        call all_reduce 4096 "$1"
        [[ $r != "${3-}" ]] && call all_reduce 8192 "$2"
        finish
    done
}
verdict() {
    "$SPECTER" analyze --full dumps --json out.json --fail-on 'hangs>0' >out.txt 2>err.txt
    echo "status $?"
    awk '/(Hang|Possible hang|Under way): / { on = 1 } /^ *[2-9]\. |^$/ { on = 0 } on' out.txt
    grep -E '"(rule|possible|waited_us)":' out.json | tr -d '\t,' | grep -E 'way|hang|possible|waited'
}
echo "-- the last one runs"
job completed started
verdict
echo "-- one behind the other"
job started scheduled
verdict
echo "-- rank 3 was dumped before its call"
job completed started 3
verdict
echo "-- one dump is missing"
job completed started
rm dumps/nccl_trace_rank_3
verdict
echo "-- the newest time is 1.5 s behind the calls"
job completed started
sed -i -E 's/"time_discovered_started_ns":1748030000002/"time_discovered_started_ns":1748030001502/' \
    dumps/nccl_trace_rank_0
verdict
echo "-- the same, of one rank that has called nothing more"
job completed started 3
sed -i -E 's/"time_discovered_started_ns":1748030000002/"time_discovered_started_ns":1748030001502/' \
    dumps/nccl_trace_rank_0
verdict
echo "-- the same, of one that made a call of its own half a second before: it may be slow"
job completed started 3
begin 3
call all_reduce 1024 completed
call all_reduce 4096 completed
n=1000
message 'send 3->4' 256 completed
finish
sed -i -E 's/"time_discovered_started_ns":1748030000002/"time_discovered_started_ns":1748030001502/' \
    dumps/nccl_trace_rank_0
verdict
echo "-- the same, and the time-out was over"
sed -i 's/"timeout_ms":600000/"timeout_ms":1200/g' dumps/*
verdict
echo "-- rank 3 was dumped while the last but one ran"
job completed started 3
sed -i -E 's/"state":"completed","time_created_ns":1748030000001/"state":"started","time_created_ns":1748030000001/' \
    dumps/nccl_trace_rank_3
verdict
echo "-- messages without a number, as the ring has lost the first ones"
rm dumps/*
for r in 0 1; do
    begin "$r" 2
    n=7
    message "$([[ $r == 0 ]] && echo 'send 0->1' || echo 'recv 1<-0')" 256 started
    finish
done
verdict

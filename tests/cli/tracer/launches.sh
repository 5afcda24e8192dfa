# Kernel launches: counted by stream and class, in one record before the next on that stream, when
# the host waits, when there are too many streams, and at the end of a thread and of the process.
. "$ROOT/tests/cli/tracer/common.bash"
for scenario in kernels many_streams streams_anew threads; do
    traced $scenario "$BUILD/tracer/work" $scenario || exit 1
    check $scenario/*
done
# In the order of the file, operations last: they wait for their times.
sed -n '/"untraced"\|"sync"\|"dep"/p' kernels/*.jsonl | sed 's/,"host_us":[0-9.]*,"host_end_us":[0-9.]*//'
for scenario in kernels many_streams threads; do
    sed -n 's/.*"launches":\([0-9]*\),.*/\1/p' $scenario/*.jsonl | awk -v what=$scenario '
        { if (NR > 1) recorded += last; last = $1 } END { print what ": " recorded " in records, " last " in all" }'
done
# A thread's 1000 launches, in its record and with its number. Numbers of streams may have gaps: threads
# that use a stream first at the same time draw one each.
grep '"untraced"' threads/*.jsonl | sed 's/.*"launches"/"launches"/; s/,"host_us.*//; s/"tid":[0-9]*/"tid"/' |
    sort -V | awk 'match($0, /"stream":[0-9]+/) {
        stream = substr($0, RSTART, RLENGTH)
        if (!(stream in number)) number[stream] = known++
        print substr($0, 1, RSTART - 1) "\"stream\":" number[stream] substr($0, RSTART + RLENGTH)
    }' | sort | uniq -c
# A stream that was destroyed is not the one that has its handle next.
grep '"untraced"' streams_anew/*.jsonl | grep -o '"launches":[0-9]*\|"stream":[0-9]*' | paste -d' ' - -
# The process ends while another thread launches.
traced exits "$BUILD/tracer/work" exits || fail "status $?"
check exits/*
grep -q '"event":"shutdown"' exits/*.jsonl || fail "no shutdown record"
exit 0

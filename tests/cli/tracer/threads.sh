# Eight threads, four at a time, nested groups: every operation once, numbered without a gap on each
# communicator, each group on one thread.
. "$ROOT/tests/cli/tracer/common.bash"
traced out "$CALLS" threads || exit 1
check out/*
file=out/specter_trace_rank0.jsonl
ops $file id | sort -u | wc -l
ops $file comm seq | sort -u | wc -l
ops $file comm | sort | uniq -c | awk '{ print $1 }' | uniq -c | awk '{ print $1, $2 }'
ops $file group | sort | uniq -c | awk '{ print $1 }' | uniq -c | awk '{ print $1, $2 }'
ops $file group tid | sort -u | wc -l
# host: no events were left; most get theirs even on a starved machine.
ops $file timing | awk '{ n[$2]++ } $2 != "device" && $2 != "host" { print "timing " $2 }
    END { if (n["device"] < 1000) print n["device"] + 0 " device times" }'
tail -n 1 $file | grep -o '"total_ops":[0-9]*,"dropped":[0-9]*'

# SPDX-License-Identifier: MIT
# Two steps of a host that waits for nothing, 10 ms each. In the first, an AllReduce of 1 GiB goes on beside the
# computation; on more GPUs it ends after it, while the end of the second stays. No step gets shorter for that.
mkdir traces
for rank in 0 1; do
    {
        head -n 2 "$ROOT"/tests/cli/replay/data/two_ranks/*rank$rank.jsonl
        for step in 0 1; do
            at=$((step * 10000))
            echo '{"event":"mark","kind":"iteration","name":"step","time_us":'$at.000',"tid":0}'
            sed -n '/"id":1,/{s/"id":1/"id":'$((2 * step))'/; s/"stream":0/"stream":1/; s/"seq":0/"seq":'$step'/
                s/"bytes":[0-9]*,"count":[0-9]*/"bytes":'$((step ? 1048576 : 1073741824))',"count":'$((step ? 524288 : 536870912))'/
                s/"start_us":[0-9.]*,"duration_us":[0-9.]*/"start_us":'$((at + 110)).000',"duration_us":'$((step ? 50 : 8000)).000'/
                s/"host_us":[0-9.]*,"host_end_us":[0-9.]*/"host_us":'$((at + 100)).000',"host_end_us":'$((at + 104)).000'/; p}' \
                "$ROOT"/tests/cli/replay/data/two_ranks/*rank$rank.jsonl
            sed -n '/"id":0,/{s/"id":0/"id":'$((2 * step + 1))'/
                s/"start_us":[0-9.]*,/"start_us":'$((at + 9703)).000',/
                s/"host_us":[0-9.]*,"host_end_us":[0-9.]*/"host_us":'$((at + 9700)).000',"host_end_us":'$((at + 9704)).000'/; p}' \
                "$ROOT"/tests/cli/replay/data/two_ranks/*rank$rank.jsonl
        done
        echo '{"event":"shutdown","time_us":20000.000,"total_ops":4,"dropped":0,"summary":{}}'
    } >traces/specter_trace_rank$rank.jsonl
done
"$SPECTER" replay --full traces --scale 1,2,8,64 | sed -n '/^iteration /,/^$/p; /^  GPUs  *iteration/,/^$/p; /^notes/,$p'

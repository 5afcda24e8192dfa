# SPDX-License-Identifier: MIT
# The answer rests on every wait that was recorded and on every rank's own time: without one of the
# waits (the same on all ranks) the step is shorter, with one rank late it is longer. (Without kernels that are counted and not
# timed: these are taken to fill what a missing wait leaves.)
. "$ROOT"/tests/cli/scaling/common.bash

# changed WHAT SIGN: `traces` gives another time than $trace, by more than 1 us.
changed() {
    awk -v a="$own" -v b="$(iteration traces)" -v sign="$2" \
        'BEGIN { if ((b - a) * sign <= 1) print "'$name', '"$1"':", a, "us, then", b, "us" }'
    rm -r traces
}

# All that rank 5 does from its third step on, 3 ms later.
delay() {
    awk 'function number(key) {
             return match($0, "\"" key "\":[0-9.]+") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0 : -1
         }
         function later(key,    at) {
             at = number(key)
             if (at >= 0) sub("\"" key "\":[0-9.]+", sprintf("\"%s\":%.3f", key, at + 3000))
         }
         /"event":"mark"/ && ++steps == 3 { from = number("time_us") }
         { line[NR] = $0 }
         END {
             for (i = 1; i <= NR; i++) {
                 $0 = line[i]
                 if (number("host_us") >= from || number("time_us") >= from) {
                     later("time_us"); later("host_us"); later("host_end_us"); later("start_us")
                 }
                 print
             }
         }'
}

# Without the first wait of the compute stream in the third step: for gradients, or for weights.
without_wait() {
    awk '/"event":"mark"/ { steps++ }
         steps == 3 && !gone && /"dep","kind":"wait"/ && /"stream":0,/ { gone = 1; next }
         { print }'
}

for name in $ALL; do
    capture h100 $name 8 --no-kernels
    own=$(iteration $trace)
    mkdir traces
    for file in $trace/*.jsonl; do
        without_wait <$file >traces/${file##*/}
    done
    cmp -s $trace/specter_trace_rank5.jsonl traces/specter_trace_rank5.jsonl && echo "$name has no wait"
    changed "a wait dropped" -1
    cp -r $trace traces
    delay <$trace/specter_trace_rank5.jsonl >traces/specter_trace_rank5.jsonl
    changed "a rank late" 1
done

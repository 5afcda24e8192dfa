# SPDX-License-Identifier: MIT
# Of each rank the median of its last steps, at most 100, and their trend: one grows slower, one does not, one has too
# few steps to tell.
. "$ROOT/tests/cli/watch/common.bash"
mkdir traces
python3 - <<'END' 3< <(init 0 3) 4< <(init 1 3) 5< <(init 2 3)
import os
for rank in range(3):
    with open(f"traces/specter_trace_rank{rank}.jsonl", "w") as f:
        f.write(os.fdopen(3 + rank).read())
        t = 0.0
        for k in range(200 if rank < 2 else 6):
            f.write('{"event":"mark","name":"step","time_us":%.3f,"kind":"iteration","tid":0}\n' % t)
            t += (10000 if rank != 0 or k < 150 else 12000) + k % 3
END
COLUMNS=100 "$SPECTER" watch traces --once | sed 's/traces, 3 ranks, [^,]*/traces, 3 ranks, AGE/'

# SPDX-License-Identifier: MIT
# A file that is exported into the folder of the traces is no trace: the analysis stays the same, of our own
# recordings and of a profiler's alike.
source "$ROOT/tests/cli/export/trace.bash"
mkdir kineto
cat >kineto/rank0.json <<'J'
{"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1},
 "traceEvents": [
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": {"correlation": 5}},
 {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 9, "args": {"correlation": 5, "stream": 7, "device": 0}}
]}
J
for dir in traces kineto; do
    "$SPECTER" analyze --full $dir >before 2>/dev/null
    echo "$dir: $?"
    (
        cd $dir || exit
        for format in perfetto chrome csv chakra; do
            "$SPECTER" export . --format $format 2>/dev/null || echo "$format: $?"
        done
    )
    "$SPECTER" analyze --full $dir >after
    echo "$dir with exports: $?"
    cmp before after && echo "the same"
done
"$SPECTER" analyze --full kineto/specter.trace.json.gz
echo "alone: $?"

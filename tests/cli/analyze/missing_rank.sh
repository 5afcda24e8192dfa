# SPDX-License-Identifier: MIT
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
rm traces/specter_trace_rank1.jsonl
"$SPECTER" analyze --full
echo "status $?"
# One rank that was profiled alone is a note, and a loss where that is asked for; of three ranks that two are missing is one.
for command in analyze metrics "export --format csv -o rows" "replay --scale 1"; do
    # shellcheck disable=SC2086  # words
    for strict in "" --strict; do
        "$SPECTER" $command $strict >/dev/null 2>&1
        echo "$? $command $strict"
    done
done

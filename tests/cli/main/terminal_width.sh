# SPDX-License-Identifier: MIT
# On a terminal, lines are not longer than it; a pipe gets them whole, in the form that other programs read.
script -qec true /dev/null >/dev/null 2>&1 </dev/null || { echo "no terminal can be made here"; exit 77; }
export NO_COLOR=1 LC_ALL=C
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
sizes="predict collective --op all_reduce --gpu h100_sxm --network dgx_h100_400g --ranks 16 --bytes 1M:2M --explain"
on() { # COLUMNS ARGUMENT...
    script -qec "stty cols $1; \"$SPECTER\" --no-pager ${*:2}" /dev/null </dev/null 2>&1 | tr -d '\r'
}
for columns in 80 120; do
    for args in "$sizes" doctor "analyze traces" "analyze traces --full" "replay traces --gpu a100_sxm --full" \
        "metrics traces" "profiles" "predict p2p --bytes 1K:8M --gpu h100_sxm" "predict gemm -m 64 -n 64 -k 64"; do
        # A path is one word, however long.
        on $columns "$args" | awk -v what="$args" -v most=$columns '
            length > most && !/\// { print what ": " length " columns: " $0 } END { if (NR < 5) print what ": too short" }'
    done
done
echo "== 60"
on 60 "$sizes" | sed -n '3,4p; /^ .*[0-9]/p'
echo "== 80"
on 80 "$sizes" | sed -n '3,4p; /^ .*[0-9]/p; /^# assumes/,$p'
on 80 doctor | sed -n '/kernel events/,/issue/p'
echo "== 120"
on 120 "$sizes" | sed -n '3,4p; /^ .*[0-9]/p'
on 120 "$sizes" | head -n 10 >terminal
# shellcheck disable=SC2086  # words
COLUMNS=60 "$SPECTER" $sizes | head -n 10 | cmp - terminal && echo "a pipe has all columns"
COLUMNS=60 "$SPECTER" doctor | grep -c 'kernel events.*issue'

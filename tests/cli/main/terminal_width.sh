# SPDX-License-Identifier: MIT
# On a terminal, lines are not longer than it; a pipe gets them whole, in the form that other programs read.
script -qec true /dev/null >/dev/null 2>&1 </dev/null || { echo "no terminal can be made here"; exit 77; }
export NO_COLOR=1 LC_ALL=C
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
sizes="predict collective --op all_reduce --gpu h100_sxm --network dgx_h100_400g --ranks 16 --bytes 1M:2M --explain"
on() { # COLUMNS ARGUMENT...
    script -qec "stty cols $1; \"$SPECTER\" --no-pager ${*:2}" /dev/null </dev/null 2>&1 | tr -d '\r'
}
for columns in 60 80 120; do
    for args in "$sizes" doctor "analyze traces" "analyze traces --full" "analyze traces --list-tables" \
        "replay traces --gpu a100_sxm" "replay traces --gpu a100_sxm --full" "metrics traces" "profiles" \
        "profiles h100_sxm" "profiles aws_p5" "predict p2p --bytes 1K:8M --gpu h100_sxm" help "help replay" \
        "predict gemm -m 640 -n 640 -k 64000 --gpu h100_sxm --explain"; do
        # A path is one word, however long, and a note on stderr is one line.
        on $columns "$args" | awk -v what="$args" -v most=$columns '
            length > most && !/\/|^specter: / { print what ": " length " columns: " $0 } END { if (NR < 5) print what ": too short" }'
    done
done
echo "== 60"
on 60 "$sizes" | sed -n '3,4p; /^ .*[0-9]/p'
on 60 "analyze traces --full" | sed -n '/^Time per rank/,/^  exp/p'
on 60 profiles | sed -n '1,4p; /^networks/,+4p'
on 60 "profiles h100_sxm" | sed -n '/^  field/,+3p; /^  launch_us/,+2p'
echo "== 80"
on 80 "$sizes" | sed -n '3,4p; /^ .*[0-9]/p; /^# assumes/,$p'
on 80 doctor | sed -n '/kernel events/,/issue/p'
echo "== 120"
on 120 "$sizes" | sed -n '3,4p; /^ .*[0-9]/p'
on 120 "$sizes" | head -n 10 >terminal
# shellcheck disable=SC2086  # words
COLUMNS=60 "$SPECTER" $sizes | head -n 10 | cmp - terminal && echo "a pipe has all columns"
COLUMNS=60 "$SPECTER" doctor | grep -c 'kernel events.*issue'

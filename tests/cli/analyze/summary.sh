# SPDX-License-Identifier: MIT
# The first screen has at most 14 lines of the terminal's width, without a character beside ASCII where the locale has
# none and without colour in a pipe; the words of the documents, at four widths.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
check() {
    awk -v what="$*" -v width="$COLUMNS" '
        length > width { print what ": a line of " length " columns at " width }
        /[^ -~]/ { print what ": not plain ASCII: " $0 }
        END { if (NR > 14) print what ": " NR " lines" }'
}
for COLUMNS in 60 80 100 160; do
    export COLUMNS
    for path in traces "$SHARED"/data/traces/{param/dlrm_kineto.tar.gz,param/linear_kineto.json.gz,flight_recorder/lock_gil_1st,tracelens/resnet_act_checkpoint.json.gz}; do
        [[ -e $path ]] || continue
        "$SPECTER" analyze "$path" 2>/dev/null | check analyze "${path##*/}"
        "$SPECTER" replay "$path" --gpu a100_sxm --tokens 4096 2>/dev/null | check replay "${path##*/}"
    done
    "$SPECTER" analyze
done
unset COLUMNS
echo
LC_ALL=C.UTF-8 "$SPECTER" analyze | sed -n 3,4p
"$SPECTER" analyze --color always | sed -n 2p | od -c | head -n 1
NO_COLOR=1 TERM=xterm "$SPECTER" analyze --color auto | sed -n 2p
"$SPECTER" analyze --color blue
"$SPECTER" analyze --list-tables | head -n 4

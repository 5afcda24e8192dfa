# SPDX-License-Identifier: MIT
#
# Recordings of examples/train on the stand-in GPU stack, and what replays of them say, for
# scripts/replay-accuracy.sh and tests/cli/scaling. Needs ROOT, BUILD, SPECTER and a folder in $work.

# name | options of examples/train | what it is | the axis that grows with the ranks
PATTERNS_OF_TRAINING='dp||data parallel|dp
tp|--tp 2|tensor x data parallel|dp
pp|--pp 2|pipeline, 1F1B|dp
fsdp|--fsdp|sharded data parallel|fsdp
ep|--ep 2|expert all-to-all|dp'
ITERS=5

# pattern NAME COLUMN
pattern() { awk -F"|" -v name="$1" -v n="$2" '$1 == name { print $n }' <<<"$PATTERNS_OF_TRAINING"; }

# launch FABRIC RANKS COMMAND...
launch() {
    EMU_FABRIC=$ROOT/tests/emu/fabric/$1.conf LD_LIBRARY_PATH=$BUILD/emu/lib "${@:3}"
}

# capture FABRIC PATTERN RANKS [OPTION...]: the trace's folder in $trace.
capture() {
    trace=$work/$1.$2.$3${4:+.${4#--}}
    [[ ! -d $trace ]] || return 0
    launch "$1" "$3" "$SPECTER" capture -o "$trace" -- "$ROOT/examples/launch.sh" -n "$3" \
        "$BUILD/examples/train" $(pattern "$2" 2) --iters $ITERS "${@:4}" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        exit 3
    }
}

# What cJSON prints as lines of "path value": scales.1.iteration_us 7308.
flatten() {
    awk '
    function path(key,    p, i) {
        for (i = 1; i <= depth; i++)
            p = p (name[i] == "" ? "" : name[i] ".") (count[i] >= 0 ? count[i] "." : "")
        return p key
    }
    /^\t*}, {$/ { count[depth]++; next }
    /^\t*}\]?,?$/ { depth--; next }
    /":\t{$/ { split($0, part, "\""); name[++depth] = part[2]; count[depth] = -1; next }
    /":\t\[{$/ { split($0, part, "\""); name[++depth] = part[2]; count[depth] = 0; next }
    /":\t/ { split($0, part, "\""); sub(/.*":\t/, ""); sub(/,$/, ""); print path(part[2]), $0 }'
}

# replay TRACE RESULT OPTION...: the flattened result.
replay() {
    "$SPECTER" replay "$1" --json "$work/json" "${@:3}" >/dev/null 2>"$work/log" || [[ $? == 4 ]] || {
        cat "$work/log" >&2
        exit 3
    }
    flatten <"$work/json" >"$2"
}

get() { awk -v key="$2" '$1 == key { print $2; exit }' "$1"; }

# SPDX-License-Identifier: MIT
#
# Recordings of examples/train and of tests/parallel on the stand-in GPU stack, and what replays of them say,
# for scripts/replay-accuracy.sh and tests/cli/scaling. Needs ROOT, BUILD, SPECTER and a folder in $work.

# name | options of examples/train | what it is | the axis that grows with the ranks | the other ones of 8 ranks
PATTERNS_OF_TRAINING='dp||data parallel|dp|
tp|--tp 2|tensor x data parallel|dp|tp=2
pp|--pp 2|pipeline, 1F1B|dp|pp=2
fsdp|--fsdp|sharded data parallel|fsdp|
ep|--ep 2|expert all-to-all|dp|ep=2'
ITERS=5

# Likewise of tests/parallel, which take no options.
PROGRAMS_OF_TESTS='zero3||ZeRO-3, layers of many sizes, two prefetched|fsdp
hybrid||shards of four, replicas beside them|dp|fsdp=4
accumulate||micro-batches, the last one short, steps uneven|dp
server||parameter server: Broadcast and Reduce|dp
megatron||tensor x pipeline x data parallel|dp|tp=2,pp=2
sequence||sequence x data parallel|dp|tp=4
far||tensor parallel between nodes x data parallel|dp|tp=2:4
context||ring attention x data parallel|dp|cp=4
moe||experts with uneven messages x data parallel|dp|ep=4
dlrm||tables exchanged beside dense gradients|dp
halo||borders of a ring, both ways|dp'

# pattern NAME COLUMN
pattern() {
    awk -F"|" -v name="$1" -v n="$2" '$1 == name { print $n }' <<<"$PATTERNS_OF_TRAINING
$PROGRAMS_OF_TESTS"
}

# program NAME: the command that runs it.
program() {
    if grep -q "^$1|" <<<"$PROGRAMS_OF_TESTS"; then
        echo "$BUILD/emu/programs $1 --steps $ITERS"
    else
        echo "$BUILD/examples/train $(pattern "$1" 2) --iters $ITERS"
    fi
}

# grid NAME RANKS: what --parallel takes.
grid() {
    local others=$(pattern "$1" 5) size=1 each
    for each in ${others//,/ }; do
        each=${each#*=}
        size=$((size * ${each%:*}))
    done
    echo "${others:+$others,}$(pattern "$1" 4)=$(($2 / size))"
}

# launch FABRIC RANKS COMMAND...
launch() {
    EMU_FABRIC=$ROOT/tests/emu/fabric/$1.conf LD_LIBRARY_PATH=$BUILD/emu/lib "${@:3}"
}

# capture FABRIC PATTERN RANKS [OPTION...]: the trace's folder in $trace.
capture() {
    local options="${*:4}"
    trace=$work/$1.$2.$3${4:+.${options//[ -]/}}
    [[ ! -d $trace ]] || return 0
    launch "$1" "$3" "$SPECTER" capture -o "$trace" -- "$ROOT/examples/launch.sh" -n "$3" \
        $(program "$2") "${@:4}" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        exit 3
    }
}

# as_profile TRACE: the same job as PyTorch's profiler writes it; the folder in $profiles.
as_profile() {
    profiles=$1.pytorch
    [[ -d $profiles ]] || python3 "$ROOT/tests/profiles/pytorch.py" "$1" "$profiles"
}

# Turns JSON as cJSON prints it into lines of "path value": scales.1.iteration_us 7308.
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

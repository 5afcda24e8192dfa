# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Real traces for examples/traces, ready in $OUT/examples: recorded, scrubbed, described, and tried as the test of
# that folder will try them.

# shellcheck source=tests/gpu/fixture.bash
. "$HERE/fixture.bash"

# Name, ranks, and options of workload.py; the Kineto one is the first as PyTorch's profiler sees it. Five steps
# between warm-up and the last one are kept. DistributedDataParallel times its first ten steps and waits for
# each, so the warm-up is longer.
EXAMPLES='
gpt_1gpu         1  --layers 8 --width 2048 --tokens 1024 --batch 8
gpt_2ranks       2  --layers 4 --width 1024 --tokens 512 --batch 4
gpt_4ranks       4  --layers 4 --width 1024 --tokens 512 --batch 4
gpt_1gpu_kineto  1  --layers 8 --width 2048 --tokens 1024 --batch 8
'
EXAMPLE_STEPS='--warmup 12 --steps 7 --marks'
EXAMPLE_KEPT='--iterations 2:6'
PROFILED_STEPS='--warmup 12 --steps 3'

# example_trace NAME RANKS OPTION...: specter's recording, in $OUT/examples/NAME.
example_trace() {
    local name=$1 ranks=$2 launch=() status=0
    shift 2
    [ "$ranks" = 1 ] || launch=("$BASH" "$0" --ranks "$ranks")
    # shellcheck disable=SC2086 # options, word by word
    CAPTURE=$EXAMPLE_KEPT traced "$name" "${launch[@]}" "$PYTHON" "$HERE/workload.py" transformer "$@" $EXAMPLE_STEPS \
        2>"$OUT/$name.said" || status=$?
    cat "$OUT/$name.said" >&2
    [ $status = 0 ] && cp "$OUT/traces/$name"/*.jsonl "$OUT/examples/$name"
}

# example_profile NAME OPTION...: PyTorch's profile of the same steps.
example_profile() {
    local name=$1
    shift
    # shellcheck disable=SC2086 # options, word by word
    workload transformer "$@" $PROFILED_STEPS --profile "$OUT/examples/$name/rank0.json"
}

# describe_example NAME RANKS OPTION...: its README.md.
describe_example() {
    case $1 in
    *_kineto) "$PYTHON" "$HERE/examples.py" "$OUT" "$BUILD" "$1" "$2" "" "${*:3} $PROFILED_STEPS" ;;
    *) "$PYTHON" "$HERE/examples.py" "$OUT" "$BUILD" "$1" "$2" "$EXAMPLE_KEPT" "${*:3} $EXAMPLE_STEPS" ;;
    esac
}

# record_example NAME RANKS OPTION...
record_example() {
    local name=$1 folder=$OUT/examples/$1
    rm -rf "$folder"
    mkdir -p "$folder"
    case $name in
    *_kineto) example_profile "$name" "${@:3}" ;;
    *) example_trace "$@" ;;
    esac && "$PYTHON" "$HERE/scrub.py" "$folder" &&
        describe_example "$@" && also tell_example "$name" && also fixture "$folder" && return "$WORST"
}

# tell_example NAME: what the report says of it.
tell_example() {
    local off
    off=$(identity_of "$OUT/examples/$1")
    also claim "$1 replayed on its own GPU" "$(awk -v off="$off" 'BEGIN { print off / 100 }')" 0.03 share
    claim "size of $1" "$(cat "$OUT/examples/$1"/* | wc -c)" $FIXTURE_BYTES bytes
}

check_examples() {
    local name ranks options status=0
    while read -r name ranks options; do
        [ -n "$name" ] || continue
        # shellcheck disable=SC2086 # options, word by word
        (record_example "$name" "$ranks" $options) || { echo "$name: not as it should be" && status=1; }
    done <<<"$EXAMPLES"
    return $status
}

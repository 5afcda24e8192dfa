#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Holds the replay against recordings of other runs, on the stand-in GPU stack, and prints
# docs/replay-accuracy.md. Needs `make all emu`; nothing is kept between two calls.
#
#   scripts/replay-accuracy.sh                         everything, as a document; a few minutes
#   scripts/replay-accuracy.sh identity RANKS...       captures replayed on their own hardware
#   scripts/replay-accuracy.sh scaling FROM TO...      a capture at FROM ranks against those at TO
#   scripts/replay-accuracy.sh alone FROM TO...        the same from the file of rank 0 alone
#   scripts/replay-accuracy.sh gpus RANKS              H100 to A100 and back
#   scripts/replay-accuracy.sh pytorch RANKS           captures against the same in PyTorch's format
#   scripts/replay-accuracy.sh programs FROM TO        as scaling, of the programs in tests/parallel
#
# PATTERNS="dp fsdp" takes some of the patterns (`alone` programs, too), PROGRAMS="moe far" some of the programs. Exit status: 1 when an
# error is above its limit (which the table then marks with !), 77 when nothing is built.
set -euo pipefail
export LC_ALL=C

ROOT=$(cd "$(dirname "$0")/.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
SPECTER=$BUILD/specter
for part in specter libspecter.so examples/train emu/programs emu/lib/libnccl.so.2; do
    [[ -e $BUILD/$part ]] || { echo "replay-accuracy.sh: no $part in $BUILD: make all emu"; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/specter-accuracy.XXXXXX")
trap 'rm -rf "$work"' EXIT
. "$ROOT/scripts/recordings.bash"

PATTERNS=${PATTERNS:-dp tp pp fsdp ep}
READS=${READS:-dp:1 dp:4 tp:2 pp:3 fsdp:1 ep:2} # pattern:values that a step reads back

LIMIT_IDENTITY=1 LIMIT_WAITS=5 LIMIT_SCALING=5 LIMIT_GPUS=8 LIMIT_ALONE=6 LIMIT_INTERVAL=25 LIMIT_APART=3 # per cent
PROGRAMS=${PROGRAMS:-$(cut -d'|' -f1 <<<"$PROGRAMS_OF_TESTS")}

LIMIT_PROGRAMS=10
missed=0

# ---- runs ----

# The recording on its own hardware, in $own.
replay_own() {
    capture "$1" "$2" "$3"
    own=$trace.own
    [[ -e $own ]] || replay "$trace" "$own" --scale 1
}

# ---- the machines ----

# What a user knows of these machines: the nearest kind, and that their NCCL has trees for small
# AllReduces and rings for all else. GPU profile | network profile to start from.
machine() {
    case $1 in
    h100) echo 'h100_sxm dgx_h100_400g' ;;
    a100) echo 'a100_sxm dgx_a100_200g' ;;
    esac
}

# Rows, columns, depth of GEMMs: of layers and around them, where tiles do and do not fill the multiprocessors.
GEMMS='256 256 256, 512 512 512, 1024 1024 1024, 2048 2048 2048, 4096 4096 4096, 8192 8192 8192, 1024 4096 1024,
4096 1024 1024, 1024 1024 4096, 1024 1024 8192, 2048 8192 2048, 8192 2048 2048, 2048 2048 8192, 4096 8192 2048,
4096 2048 8192, 8192 4096 2048, 8192 4096 4096, 4096 4096 1024, 4096 4096 2048, 2048 4096 4096, 512 4096 4096,
128 4096 4096, 128 8192 8192, 4096 512 4096, 1536 1536 1536, 3072 3072 3072, 5120 5120 5120, 4096 4096 512,
16 4096 4096, 16 8192 8192, 64 8192 4096, 8192 8192 1024'

# measure FABRIC RANKS GPU NETWORK: times of collectives and messages on so many ranks, of one rank of GEMMs, in
# $work/FABRIC.measured. Only the heads of buffers are moved, which no time depends on.
measure() {
    local fabric=$1 ranks=$2 gpu=$3 network=$4 nodes=$((($2 + 7) / 8)) per_node=() count
    local folder=$work/$fabric.measured
    mkdir -p "$folder"
    { cat "$ROOT/tests/emu/fabric/$fabric.conf" && printf '%s\n' 'head_bytes = 4096' 'fill_bytes = 4096'; } \
        >"$work/$fabric.conf"
    if ((ranks == 1)); then
        tr , '\n' <<<"$GEMMS" | awk 'BEGIN { print "m,n,k,dtype,order,cache" } NF { print $1 "," $2 "," $3 ",bf16,NN,hot" }' \
            >"$work/gemms.csv"
        set -- gemm --shapes "$work/gemms.csv" -o "$folder/gemm.csv"
    else
        for count in 1 2 4 8; do
            ((count * nodes < 2 || count * nodes > ranks)) || per_node+=($count)
        done
        set -- collective --op all_reduce,all_gather,reduce_scatter,broadcast,reduce,alltoall,sendrecv --dtype bf16 \
            --bytes 1K:256M --factor 4 --iters 5 --warmup 1 --check 0 --rotate-root \
            --per-node "$(IFS=,; echo "${per_node[*]}")" --network "$network" -o "$folder"
    fi
    MASTER_PORT=$((20000 + RANDOM % 10000)) EMU_FABRIC=$work/$fabric.conf LD_LIBRARY_PATH=$BUILD/emu/lib \
        "$ROOT/examples/launch.sh" -n "$ranks" "$SPECTER" bench "$@" --gpu "$gpu" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        exit 3
    }
}

# profile FABRIC RANKS...: what `calibrate` makes of `specter bench` on so many ranks, in $profile.
profile() {
    local fabric=$1 gpu network ranks
    profile=$work/$fabric.json
    [[ ! -e $profile ]] || return 0
    read -r gpu network <<<"$(machine "$fabric")"
    cat >"$work/$fabric.base.json" <<EOF
{"network": {"name": "stand_in", "base": "$network", "tree_max_bytes": 262144}}
EOF
    for ranks in 1 "${@:2}"; do
        measure "$fabric" "$ranks" "$gpu" "$work/$fabric.base.json"
    done
    # What the rows do not tell keeps the value of the machine's kind.
    "$SPECTER" calibrate "$work/$fabric.measured" -o "$profile" --gpu "$gpu" --network "$work/$fabric.base.json" \
        --fix open >"$work/$fabric.fit" 2>"$work/log" || {
        cat "$work/log" >&2
        exit 3
    }
}

# ---- figures ----

# off PREDICTED RECORDED: per cent, with a sign.
off() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%+.2f", 100 * (a / b - 1) }'; }

# limited FIGURE LIMIT: the figure; marked, and counted by the caller, where it is above the limit.
limited() { awk -v x="$1" -v most="$2" 'BEGIN { printf "%s%s", x, (x > most || -x > most) ? " !" : "" }'; }

# A row of a table. A marked figure in it misses its limit.
row() {
    printf '| %s |\n' "$*"
    [[ $* != *' !'* ]] || missed=1
}

ms() { awk -v us="$1" 'BEGIN { printf "%.3f", us / 1e3 }'; }

# The largest |replayed / recorded - 1| of any rank, per cent.
worst_rank() {
    awk '$1 ~ /^ranks\.[0-9]+\.recorded_us$/ { recorded = $2 }
         $1 ~ /^ranks\.[0-9]+\.replayed_us$/ {
             off = 100 * ($2 / recorded - 1); off = off < 0 ? -off : off
             most = off > most ? off : most
         }
         END { printf "%.2f", most }' "$1"
}

# is_inside RESULT SCALE PREDICTED RECORDED: succeeds where the recorded time lies in the stated interval.
is_inside() {
    awk -v share="$(get "$1" "scales.$2.error.share")" -v p="$3" -v r="$4" \
        'BEGIN { exit !(p * (1 - share) <= r * 1.0005 && r * 0.9995 <= p * (1 + share)) }'
}

# ---- tables ----

identity() {
    local name ranks waits
    row 'pattern | ranks | recorded, ms | replayed, ms | off, % | worst rank, % | waits, ms | collectives | waits off, median, %'
    row '--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---:'
    for name in $PATTERNS; do
        for ranks in "$@"; do
            replay_own h100 "$name" "$ranks"
            recorded=$(get "$own" source.recorded.iteration_us)
            replayed=$(get "$own" source.replayed.iteration_us)
            waits=$(awk -v x="$(get "$own" source.waits.median_off)" 'BEGIN { printf "%.2f", 100 * x }')
            row "$(pattern "$name" 3) | $ranks | $(ms "$recorded") | $(ms "$replayed") |" \
                "$(limited "$(off "$replayed" "$recorded")" $LIMIT_IDENTITY) |" \
                "$(limited "$(worst_rank "$own")" $LIMIT_IDENTITY) |" \
                "$(ms "$(get "$own" source.waits.recorded_us)") | $(get "$own" source.waits.collectives) |" \
                "$(limited "$waits" $LIMIT_WAITS)"
        done
    done
}

# parts RESULT PREFIX: communication, of it exposed; idle, ms.
parts() {
    echo "$(ms "$(get "$1" "$2.comm_us")") | $(ms "$(get "$1" "$2.exposed_comm_us")") | $(ms "$(get "$1" "$2.idle_us")")"
}

# scaling FROM TO...
scaling() {
    local name ranks from=$1 scales=1 i inside=0 all=0
    for ranks in "${@:2}"; do
        scales+=,$((ranks / from))
    done
    row 'pattern | ranks | recorded, ms | communication | exposed | idle | predicted, ms | communication | exposed | idle | off, %'
    row '--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---:'
    for name in $PATTERNS; do
        capture h100 "$name" "$from"
        replay "$trace" "$trace.grown" --from-network "$profile" --network "$profile" \
            --scale $scales --grow "$(pattern "$name" 4)"
        grown=$trace.grown
        i=0
        for ranks in "${@:2}"; do
            i=$((i + 1))
            replay_own h100 "$name" "$ranks"
            recorded=$(get "$own" source.recorded.iteration_us)
            predicted=$(get "$grown" scales.$i.iteration_us)
            all=$((all + 1))
            ! is_inside "$grown" $i "$predicted" "$recorded" || inside=$((inside + 1))
            row "$(pattern "$name" 3) | $from to $ranks |" \
                "$(ms "$recorded") | $(parts "$own" source.recorded) |" \
                "$(ms "$predicted") | $(parts "$grown" scales.$i) |" \
                "$(limited "$(off "$predicted" "$recorded")" $LIMIT_SCALING)"
        done
    done
    printf '\nOf %d recorded times %d are inside the stated interval.\n' $all $inside
}

# alone FROM TO...: within the limit, or inside an interval that is not too wide.
alone() {
    local name ranks from=$1 scales=1 i inside=0 all=0 off bar word
    for ranks in "${@:2}"; do
        scales+=,$((ranks / from))
    done
    row 'pattern | ranks | recorded, ms | predicted, ms | off, % | interval, +- % | waits for others, % of the step | recorded is'
    row '--- | ---: | ---: | ---: | ---: | ---: | ---: | ---'
    for name in $PATTERNS; do
        capture h100 "$name" "$from"
        mkdir -p "$trace.alone"
        cp "$trace"/*rank0.jsonl "$trace.alone"
        replay "$trace.alone" "$trace.alone.grown" --from-network "$profile" --network "$profile" \
            --scale $scales --grow "$(pattern "$name" 4)" --parallel "$(grid "$name" "$from")"
        grown=$trace.alone.grown
        i=0
        for ranks in "${@:2}"; do
            i=$((i + 1)) all=$((all + 1))
            replay_own h100 "$name" "$ranks"
            recorded=$(get "$own" source.recorded.iteration_us)
            predicted=$(get "$grown" scales.$i.iteration_us)
            off=$(off "$predicted" "$recorded")
            bar=$(awk -v x="$(get "$grown" scales.$i.error.share)" 'BEGIN { printf "%.1f", 100 * x }')
            word=$(awk -v p="$predicted" -v r="$recorded" -v bar="$bar" -v limit=$LIMIT_INTERVAL -v most=$LIMIT_ALONE '
                BEGIN { off = 100 * (p / r - 1); in_bar = p * (1 - bar / 100) <= r && r <= p * (1 + bar / 100)
                    good = (off <= most && off >= -most) || (in_bar && bar <= limit)
                    print (in_bar ? "inside" : "outside") (good ? "" : " !") }')
            [[ $word != inside* ]] || inside=$((inside + 1))
            row "$(pattern "$name" 3) | $from to $ranks | $(ms "$recorded") | $(ms "$predicted") |" \
                "$off | $bar | $(awk -v w="$(get "$grown" scales.$i.absent_wait_us)" -v s="$predicted" \
                    'BEGIN { printf "%.1f", 100 * w / s }') | $word"
        done
    done
    printf '\nOf %d recorded times %d are inside the stated interval.\n' $all $inside
}

# programs FROM TO: with the stated error of each prediction, and whether the recording lies within.
programs() {
    local name from=$1 to=$2 off stated inside=0 all=0 verdict
    row 'program | ranks | recorded, ms | predicted, ms | off, % | stated, % | within'
    row '--- | ---: | ---: | ---: | ---: | ---: | ---'
    for name in $PROGRAMS; do
        capture h100 "$name" "$from"
        replay "$trace" "$trace.grown" --from-network "$profile" --network "$profile" \
            --scale $((to / from)) --grow "$(pattern "$name" 4)"
        grown=$trace.grown
        replay_own h100 "$name" "$to"
        recorded=$(get "$own" source.recorded.iteration_us)
        predicted=$(get "$grown" scales.0.iteration_us)
        stated=$(awk -v x="$(get "$grown" scales.0.error.share)" 'BEGIN { printf "%.1f", 100 * x }')
        off=$(off "$predicted" "$recorded")
        verdict=$(awk -v a="$predicted" -v b="$recorded" -v e="$stated" \
            'BEGIN { off = 100 * (b / a - 1); print (off <= e && -off <= e) ? "yes" : "no" }')
        all=$((all + 1))
        if [[ $verdict == yes ]]; then
            inside=$((inside + 1))
        else
            off=$(limited "$off" $LIMIT_PROGRAMS)
        fi
        row "$(pattern "$name" 3) | $from to $to | $(ms "$recorded") | $(ms "$predicted") |" \
            "$off | $stated | $verdict"
    done
    printf '\n%d of %d recordings lie within the stated error.\n' $inside $all
}

# gpus RANKS
gpus() {
    local name ranks=$1 from to inside=0 all=0
    row 'pattern | from | to | recorded there, ms | predicted, ms | off, % | modelled, % of device time | untraced, % of the step | host bound, % of the step'
    row '--- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---:'
    for name in $PATTERNS; do
        for from in h100 a100; do
            to=$([[ $from == h100 ]] && echo a100 || echo h100)
            replay_own "$to" "$name" "$ranks"
            capture "$from" "$name" "$ranks"
            replay "$trace" "$trace.to" --scale 1 --from-gpu "$work/$from.json" \
                --from-network "$work/$from.json" --gpu "$work/$to.json" --network "$work/$to.json"
            recorded=$(get "$own" source.recorded.iteration_us)
            predicted=$(get "$trace.to" scales.0.iteration_us)
            all=$((all + 1))
            ! is_inside "$trace.to" 0 "$predicted" "$recorded" || inside=$((inside + 1))
            row "$(pattern "$name" 3) | $from | $to | $(ms "$recorded") | $(ms "$predicted") |" \
                "$(limited "$(off "$predicted" "$recorded")" $LIMIT_GPUS) | $(shares "$trace.to")"
        done
    done
    printf '\nOf %d recorded times %d are inside the stated interval.\n' $all $inside
}

# What the replay of $1 says, on the hardware $3 of a recording on $2; the flattened result in $said.
said_of() {
    local from to gpu network options=()
    said=$1.$3
    if [[ $2 != "$3" ]]; then
        for from in from-:$2 :$3; do
            read -r gpu network <<<"$(machine "${from#*:}")"
            [[ ! -e $work/${from#*:}.json ]] || gpu=$work/${from#*:}.json network=$gpu
            options+=(--${from%:*}gpu "$gpu" --${from%:*}network "$network")
        done
    fi
    [[ -e $said ]] || replay "$1" "$said" --scale 1 "${options[@]}"
}

# Of $said, beside the truth $1: predicted, off, the stated error, inside. Counts those inside in $inside.
judged() {
    local us share
    us=$(get "$said" scales.0.iteration_us) share=$(get "$said" scales.0.error.share)
    judged=$(awk -v us="$us" -v share="$share" -v truth="$1" 'BEGIN {
        within = us * (1 - share) <= truth * 1.0005 && truth * 0.9995 <= us * (1 + share)
        printf "%.3f | %+.2f | %.1f | %s", us / 1e3, 100 * (us / truth - 1), 100 * share, within ? "yes" : "no" }')
    [[ $judged != *yes ]] || inside=$((inside + 1))
    predicted=$us
}

# pytorch RANKS
pytorch() {
    local each name reads from to trace_from own_us of_own=0 of_copies=0 n=0 inside
    row 'pattern | reads a step | recorded on | for | truth, ms | own trace, ms | off, % | stated, % | inside | PyTorch profile, ms | off, % | stated, % | inside | apart, %'
    row '--- | ---: | --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | --- | ---:'
    for each in $READS; do
        name=${each%:*} reads=${each#*:}
        for from in h100 a100; do
            for to in h100 a100; do
                capture $to $name "$1" --no-kernels --item $reads
                said_of "$trace" $to $to
                truth=$(get "$said" source.recorded.iteration_us)
                capture $from $name "$1" --no-kernels --item $reads
                said_of "$trace" $from $to
                inside=$of_own && judged "$truth" && of_own=$inside own=$judged own_us=$predicted
                as_profile "$trace"
                said_of "$profiles" $from $to
                inside=$of_copies && judged "$truth" && of_copies=$inside
                n=$((n + 1))
                row "$(pattern $name 3) | $reads | $from | $to | $(ms "$truth") | $own | $judged |" \
                    "$(limited "$(off "$predicted" "$own_us")" $LIMIT_APART)"
            done
        done
    done
    printf '\nTruths inside the stated interval: %d of %d by own traces, %d of %d by PyTorch profiles.\n' \
        $of_own $n $of_copies $n
}

# Of the recorded step: what models know; kernels without a time; what the device waits for the host
# (as replayed on its own hardware, which tells why it waits).
shares() {
    awk -v unmodelled="$(get "$1" unmodelled)" -v span="$(get "$1" source.replayed.iteration_us)" \
        -v untraced="$(get "$1" source.replayed.untraced_us)" \
        -v host="$(get "$1" source.replayed.host_bound_us)" \
        'BEGIN { printf "%.1f | %.1f | %.1f", 100 * (1 - unmodelled), 100 * untraced / span, 100 * host / span }'
}

# ---- everything ----

document() {
    cat <<EOF
# How far a replay is off

Replays of recordings on the stand-in GPU stack (tests/emu), held against recordings of other runs: of
examples/train and of eleven other programs (tests/parallel), of all ranks and of rank 0 alone, as specter captured
them and as PyTorch's profiler would have written them. Each section but the identity, which leaves nothing open, says
how many of the truths lie inside the interval that the replay states. \`make accuracy-replay\` wrote this page.
The stand-ins move every collective chunk by chunk over
links of their own; nothing of them is shared with the models that a replay uses, which know the machines
through a profile that \`specter calibrate\` fitted to measurements (\`specter bench\`) on them. Figures
marked with ! are above the limit in the heading.

Told, not measured, as a data sheet and its administrator would: the kind of machine to start from
($(machine h100 | sed 's/ / in /'), $(machine a100 | sed 's/ / in /')), and that its NCCL takes trees
for AllReduces of up to 256 KiB and rings for all else (\`tree_max_bytes\`), where a real one goes by its own estimates.

EOF
    profile h100 2 8 16 32 64
    profile a100 2 8 16 32 64
    printf '## The profiles\n'
    for fabric in h100 a100; do
        printf '\nerrors of the model on what was measured, %s (not told by the rows, and left as it was: %s)\n\n' \
            "$fabric" "$(sed -n 's/^ *\([a-z_A-Z0-9]*\) .* fixed$/\1/p' "$work/$fabric.fit" | paste -sd, | sed 's/,/, /g')"
        profile_table "$work/$fabric.fit"
    done
    printf '\n## On its own hardware (%s %% in all and of every rank, waits %s %%)\n\n' $LIMIT_IDENTITY $LIMIT_WAITS
    identity 2 8 64
    profile=$work/h100.json
    printf '\n## At another size (%s %%)\n\n' $LIMIT_SCALING
    scaling 8 16 32 64
    printf '\n## From rank 0 alone (%s %%, or inside an interval of %s %% to either side)\n\n' $LIMIT_ALONE $LIMIT_INTERVAL
    printf 'The file of rank 0 of 8, with the grid told (`--parallel`): other members of its groups, and when\n'
    printf 'they come, are not known.\n\n'
    alone 8 16 32 64
    printf '\nThe other programs of the next section, likewise:\n\n'
    PATTERNS=$PROGRAMS alone 8 32
    printf '\n## Other programs at another size (%s %%, or within the stated error)\n\n' $LIMIT_PROGRAMS
    printf 'tests/parallel: eleven ways to divide work that the training example does not have.\n\n'
    programs 8 32
    printf '\n## On another GPU (%s %%)\n\n' $LIMIT_GPUS
    gpus 8
    printf '\n## As a PyTorch profile (%s %% apart)\n\n' $LIMIT_APART
    cat <<EOF
The same recordings, of steps that read values back as \`.item()\` does (\`examples/train --item\`), once as
specter captured them and once rewritten in the format of PyTorch's profiler (tests/profiles/pytorch.py), which
tells neither which event a stream waits for nor what a synchronisation is about. All kernels have times in both
(\`--no-kernels\`).

EOF
    pytorch 8
}

# The errors that calibrate prints, as a table.
profile_table() {
    row 'rows | how many | median error | p90'
    row '--- | ---: | ---: | ---:'
    awk '/^  all / { on = 1 } on && NF == 0 { exit } on' "$1" |
        sed -E 's/^  (.*[^ ]) +([0-9]+) +[0-9.]+ % +[0-9.]+ % +([0-9.]+ %) +([0-9.]+ %)$/| \1 | \2 | \3 | \4 |/; s/ +\|/ |/'
}

case ${1:-} in
'') document ;;
identity) identity "${@:2}" ;;
scaling)
    profile h100 2 8 16
    scaling "${@:2}"
    ;;
alone)
    profile h100 2 8 16
    alone "${@:2}"
    ;;
programs)
    profile h100 2 8 16
    programs "${@:2}"
    ;;
gpus)
    profile h100 2 8
    profile a100 2 8
    gpus "${@:2}"
    ;;
pytorch) pytorch "${@:2}" ;;
*)
    echo "usage: ${0##*/} [identity RANKS... | scaling FROM TO... | alone FROM TO... | programs FROM TO | gpus RANKS |" \
        "pytorch RANKS]" >&2
    exit 2
    ;;
esac
exit $missed

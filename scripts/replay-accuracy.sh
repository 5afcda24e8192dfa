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
# PATTERNS="dp fsdp" takes some of the patterns (`alone` programs, too), PROGRAMS="moe far" some of the programs;
# PROFILES=shipped replays with the profiles of the machines' kinds, in place of fitted ones.
# Exit status: 1 when an error is above its limit (which the table then marks with !), 77 when nothing is built.
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

PROFILES=${PROFILES:-fitted}
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

# Prints the profiles of GPU and network that a replay starts from: a user knows the nearest kind of machine, and that
# its NCCL has trees for small AllReduces and rings for all else.
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

# profiles_of FABRIC: its GPU and network for options, as PROFILES says: fitted ones, or those of its kind.
profiles_of() {
    if [[ $PROFILES == fitted ]]; then
        echo "$work/$1.json $work/$1.json"
    else
        machine "$1"
    fi
}

# profile FABRIC RANKS...: what `calibrate` makes of `specter bench` on so many ranks, in $profile.
profile() {
    local fabric=$1 gpu network ranks
    read -r _ profile <<<"$(profiles_of "$fabric")"
    [[ $PROFILES == fitted && ! -e $profile ]] || return 0
    read -r gpu network <<<"$(machine "$fabric")"
    cat >"$work/$fabric.base.json" <<EOF
{"network": {"name": "stand_in", "base": "$network",
 "tuner": [{"op": "AllReduce", "max_bytes": 262144, "algo": "tree", "proto": "Simple"},
  {"algo": "ring", "proto": "Simple"}]}}
EOF
    for ranks in 1 "${@:2}"; do
        measure "$fabric" "$ranks" "$gpu" "$work/$fabric.base.json"
    done
    # Parameters that the rows do not tell keep the values of the machine's kind.
    "$SPECTER" calibrate "$work/$fabric.measured" -o "$profile" --gpu "$gpu" --network "$work/$fabric.base.json" \
        --full >"$work/$fabric.fit" 2>"$work/log" || {
        cat "$work/log" >&2
        exit 3
    }
}

# ---- figures ----

# off PREDICTED RECORDED: per cent, with a sign.
off() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%+.2f", 100 * (a / b - 1) }'; }

# farther A B: the one that is farther from 0, without its sign.
farther() { awk -v a="$1" -v b="$2" 'BEGIN { b = b < 0 ? -b : b + 0; print (a > b ? a : b) }'; }

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

# stated RESULT SCALE: half the interval of 80 %, per cent of the prediction.
stated() { awk -v x="$(get "$1" "scales.$2.error.share")" 'BEGIN { printf "%.1f", 100 * x }'; }

# is_inside RESULT SCALE RECORDED: succeeds where the recorded time lies in the interval of 80 %.
is_inside() {
    awk -v key="scales.$2.interval80" -v r="$3" '
        $1 == key { gsub(/[][,]/, ""); inside = $2 <= r * 1.0005 && r * 0.9995 <= $3 }
        END { exit !inside }' "$1"
}

# ---- tables ----

identity() {
    local name ranks waits
    row 'pattern | ranks | recorded, ms | off, % | worst rank, % | waits off, median, %'
    row '--- | ---: | ---: | ---: | ---: | ---:'
    for name in $PATTERNS; do
        for ranks in "$@"; do
            replay_own h100 "$name" "$ranks"
            recorded=$(get "$own" source.recorded.iteration_us)
            replayed=$(get "$own" source.replayed.iteration_us)
            waits=$(awk -v x="$(get "$own" source.waits.median_off)" 'BEGIN { printf "%.2f", 100 * x }')
            row "$(pattern "$name" 3) | $ranks | $(ms "$recorded") |" \
                "$(limited "$(off "$replayed" "$recorded")" $LIMIT_IDENTITY) |" \
                "$(limited "$(worst_rank "$own")" $LIMIT_IDENTITY) | $(limited "$waits" $LIMIT_WAITS)"
        done
    done
}

# scaling FROM TO...
scaling() {
    local name ranks from=$1 scales=1 i inside=0 all=0
    for ranks in "${@:2}"; do
        scales+=,$((ranks / from))
    done
    row 'pattern | ranks | recorded, ms | off, % | stated, %'
    row '--- | ---: | ---: | ---: | ---:'
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
            ! is_inside "$grown" $i "$recorded" || inside=$((inside + 1))
            row "$(pattern "$name" 3) | $from to $ranks | $(ms "$recorded") |" \
                "$(limited "$(off "$predicted" "$recorded")" $LIMIT_SCALING) | $(stated "$grown" $i)"
        done
    done
    printf '\n%d of %d recorded times are inside the interval of 80 %%.\n' $inside $all
}

# alone_verdict OFF STATED INSIDE: the stated interval; marked where the prediction is neither within the limit nor
# inside (1) an interval that is narrow enough.
alone_verdict() {
    awk -v off="$1" -v bar="$2" -v inside="$3" -v widest=$LIMIT_INTERVAL -v most=$LIMIT_ALONE 'BEGIN {
        print bar ((off <= most && off >= -most) || (inside && bar <= widest) ? "" : " !") }'
}

# alone FROM TO...
alone() {
    local name ranks from=$1 scales=1 i inside=0 all=0 off bar here
    for ranks in "${@:2}"; do
        scales+=,$((ranks / from))
    done
    row 'pattern | ranks | off, % | stated, %'
    row '--- | ---: | ---: | ---:'
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
            off=$(off "$predicted" "$recorded") bar=$(stated "$grown" $i) here=0
            ! is_inside "$grown" $i "$recorded" || here=1
            inside=$((inside + here))
            row "$(pattern "$name" 3) | $from to $ranks | $off |" \
                "$(alone_verdict "$off" "$bar" $here)"
        done
    done
    printf '\n%d of %d recorded times are inside the interval of 80 %%.\n' $inside $all
}

# programs FROM TO: with the stated interval of each prediction, and whether the recording lies within.
programs() {
    local name from=$1 to=$2 off stated inside=0 all=0
    row 'program | ranks | recorded, ms | off, % | stated, %'
    row '--- | ---: | ---: | ---: | ---:'
    for name in $PROGRAMS; do
        capture h100 "$name" "$from"
        replay "$trace" "$trace.grown" --from-network "$profile" --network "$profile" \
            --scale $((to / from)) --grow "$(pattern "$name" 4)"
        grown=$trace.grown
        replay_own h100 "$name" "$to"
        recorded=$(get "$own" source.recorded.iteration_us)
        predicted=$(get "$grown" scales.0.iteration_us)
        off=$(off "$predicted" "$recorded") stated=$(stated "$grown" 0)
        all=$((all + 1))
        if is_inside "$grown" 0 "$recorded"; then
            inside=$((inside + 1))
        else
            off=$(limited "$off" $LIMIT_PROGRAMS)
        fi
        row "$(pattern "$name" 3) | $from to $to | $(ms "$recorded") | $off | $stated"
    done
    printf '\n%d of %d recorded times are inside the interval of 80 %%.\n' $inside $all
}

# gpus RANKS
gpus() {
    local name ranks=$1 from to inside=0 all=0 gpu network
    row 'pattern | from | to | recorded there, ms | off, % | stated, %'
    row '--- | --- | --- | ---: | ---: | ---:'
    for name in $PATTERNS; do
        for from in h100 a100; do
            to=$([[ $from == h100 ]] && echo a100 || echo h100)
            replay_own "$to" "$name" "$ranks"
            capture "$from" "$name" "$ranks"
            read -r gpu network <<<"$(profiles_of "$from")"
            set -- --from-gpu "$gpu" --from-network "$network"
            read -r gpu network <<<"$(profiles_of "$to")"
            replay "$trace" "$trace.to" --scale 1 "$@" --gpu "$gpu" --network "$network"
            recorded=$(get "$own" source.recorded.iteration_us)
            predicted=$(get "$trace.to" scales.0.iteration_us)
            all=$((all + 1))
            ! is_inside "$trace.to" 0 "$recorded" || inside=$((inside + 1))
            row "$(pattern "$name" 3) | $from | $to | $(ms "$recorded") |" \
                "$(limited "$(off "$predicted" "$recorded")" $LIMIT_GPUS) | $(stated "$trace.to" 0)"
        done
    done
    printf '\n%d of %d recorded times are inside the interval of 80 %%.\n' $inside $all
}

# Replays $1, recorded on $2, for the hardware $3; $said is the name of the flattened result.
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

# Of $said, beside the truth $1: off and the stated interval in $judged. Counts those inside in $inside.
judged() {
    predicted=$(get "$said" scales.0.iteration_us)
    judged="$(off "$predicted" "$1") | $(stated "$said" 0)"
    ! is_inside "$said" 0 "$1" || inside=$((inside + 1))
}

# pytorch RANKS [brief]: brief sums up all that is within the limit.
pytorch() {
    local each name reads from to own_us of_own=0 of_copies=0 n=0 inside same=0 other=0 apart=0 cells
    [[ ${2:-} == brief ]] ||
        row 'pattern | reads a step | recorded on | for | truth, ms | own trace, off % | stated, % | PyTorch profile, off % | stated, % | apart, %'
    [[ ${2:-} == brief ]] || row '--- | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---:'
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
                cells="$(pattern $name 3) | $reads | $from | $to | $(ms "$truth") | $own | $judged |"
                cells+=" $(limited "$(off "$predicted" "$own_us")" $LIMIT_APART)"
                if [[ ${2:-} == brief && $cells != *' !' ]]; then
                    apart=$(farther "$apart" "$(off "$predicted" "$own_us")")
                    if [[ $from == "$to" ]]; then
                        same=$(farther "$same" "${judged%% |*}")
                    else
                        other=$(farther "$other" "${judged%% |*}")
                    fi
                else
                    row "$cells"
                fi
            done
        done
    done
    [[ ${2:-} != brief ]] || printf 'PyTorch profiles are at most %s %% off on the GPU of their recording, %s %% on another. %s\n' \
        "$same" "$other" "The two
replays are at most $apart % apart."
    printf '\nTruths inside the interval of 80 %%: %d of %d by own traces, %d of %d by PyTorch profiles.\n' \
        $of_own $n $of_copies $n
}

# ---- everything ----

# without COLUMNS COMMAND...: what it prints, less these columns of its table, the last one first.
without() {
    "${@:2}" >"$work/table"
    awk -F ' [|] ' -v OFS=' | ' -v columns="$1" '
        BEGIN { n = split(columns, column, ",") }
        /^[|]/ {
            for (k = 1; k <= n; k++) {
                for (i = column[k]; i < NF; i++) $i = $(i + 1)
                NF--
            }
        }
        { print }' "$work/table"
}

# Prints the table of identity() as a sentence, or as it is where a figure is above its limit.
identity_sentence() {
    identity "$@" >"$work/table"
    if grep -q ' ! ' "$work/table"; then
        cat "$work/table"
        return
    fi
    awk -F ' *[|] *' '
        function size(x) { return x < 0 ? -x : x + 0 }
        NR <= 2 { next }
        { n++; least = n == 1 || $4 < least ? $4 : least; most = $4 > most ? $4 : most }
        size($5) > off { off = size($5) }
        $6 > worst { worst = $6 + 0 }
        $7 > waits { waits = $7 + 0; of = $2 }
        END {
            printf "%d recordings (five patterns at 8 and 64 ranks, steps of %.1f to %.1f ms) are at most %.2f %% off, ", n, least, most, off
            printf "their ranks\n%.2f %%, their waits at the median %.2f %% (%s).\n", worst, waits, of
        }' "$work/table"
}

# Likewise what gpus() prints.
gpus_sentence() {
    gpus "$@" >"$work/table"
    if grep -q ' ! ' "$work/table"; then
        cat "$work/table"
        return
    fi
    awk -F ' *[|] *' '
        function size(x) { return x < 0 ? -x : x + 0 }
        !/^[|]/ { said = said "\n" $0; next }
        ++lines <= 2 { next }
        { n++; least = n == 1 || $7 < least ? $7 : least; most = $7 > most ? $7 : most }
        size($6) > off { off = size($6); of = $2; from = $3; to = $4 }
        END {
            printf "%d replays (five patterns, from each machine to the other) are at most %.2f %% off ", n, off
            printf "(%s, %s to %s);\nstated are %.1f to %.1f %%.\n", of, from, to, least, most
            print substr(said, 2)
        }' "$work/table"
}

# The patterns of the last section; the others of $READS are for the tests.
DOCUMENTED_READS='dp:4 tp:2 pp:3 fsdp:1 ep:2'

document() {
    cat <<EOF
# The error of a replay

\`make accuracy-replay\` wrote this page: replays of recordings on the [stand-ins](../tests/emu/README.md), which share
nothing with the models that a replay uses, beside recordings of other runs. The jobs are examples/train and eleven
programs of tests/parallel.

- The machines' profiles were fitted by \`specter calibrate\` to \`specter bench\` on them. Given were the machine to start
  from ($(machine h100 | sed 's/ / in /'), $(machine a100 | sed 's/ / in /')) and a \`tuner\` that takes trees up to 256 KiB.
- *off* is predicted / recorded - 1; *stated* is half the width of the [interval of 80 %](replay.md#the-interval) that
  the replay gives itself. A figure with ! is above the limit in its heading.

## The profiles

EOF
    profile h100 2 8 16 32 64
    profile a100 2 8 16 32 64
    printf 'Median errors on rows that had no part in the fit: h100 %s, a100 %s.\n' \
        "$(profile_errors h100)" "$(profile_errors a100)"
    printf 'Parameters that the rows do not determine keep the value of the kind of machine, or stay near it:\n\n'
    for fabric in h100 a100; do
        printf -- '- %s: %s\n' "$fabric" \
            "$(sed -nE 's/^ *([a-z_A-Z0-9]+) .* (no effect|uncertain|not to be told .*|left-out rows .*)$/\1/p' "$work/$fabric.fit" | paste -sd, | sed 's/,/, /g')"
    done
    printf '\n## On its own hardware (%s %% in all and of every rank, waits %s %%)\n\n' $LIMIT_IDENTITY $LIMIT_WAITS
    identity_sentence 8 64
    profile=$work/h100.json
    printf '\n## From 8 to 64 ranks (%s %%)\n\n' $LIMIT_SCALING
    without 3,2 scaling 8 64
    printf '\n## From rank 0 alone, 8 to 32 ranks (%s %%, or inside an interval of %s %% to either side)\n\n' $LIMIT_ALONE $LIMIT_INTERVAL
    printf 'The file of rank 0 of 8, with `--parallel`: what other ranks do, and when, is not known.\n\n'
    PATTERNS="$PATTERNS $PROGRAMS" without 2 alone 8 32
    printf '\n## Other programs, from 8 to 32 ranks (%s %%, or inside the interval of 80 %%)\n\n' $LIMIT_PROGRAMS
    without 3,2 programs 8 32
    printf '\n## On another GPU (%s %%)\n\n' $LIMIT_GPUS
    gpus_sentence 8
    printf '\n## With the profiles of the kind of machine\n\n'
    printf 'As in the two sections above, but with the profiles to start from: nothing was measured on the machines.\n\n'
    PROFILES=shipped
    profile h100
    printf -- '- Other programs: '
    programs 8 32 | tail -n 1
    printf -- '- On another GPU: '
    gpus 8 | tail -n 1
    PROFILES=fitted
    printf '\n## As a PyTorch profile (%s %% apart)\n\n' $LIMIT_APART
    cat <<EOF
The same recording is replayed as specter captured it and as PyTorch's profiler would have written it
(tests/profiles/pytorch.py): without the events of waits and synchronisations. Steps read values back as \`.item()\` does.

EOF
    READS=$DOCUMENTED_READS pytorch 8 brief
}

# The errors of left-out rows that calibrate prints for a machine: median and 90 % quantile.
profile_errors() {
    awk '/^  all / { gsub(/ %/, ""); print $(NF - 1) " % (90 %: " $NF " %)" }' "$work/$1.fit"
}

case ${1:-} in
'')
    document >"$work/page"
    awk -f "$ROOT/scripts/plain_tables.awk" "$work/page"
    ;;
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

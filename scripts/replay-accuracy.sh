#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Holds the replay against recordings of other runs, on the stand-in GPU stack, and prints
# docs/replay-accuracy.md. Needs `make all emu`; nothing is kept between two calls.
#
#   scripts/replay-accuracy.sh                         everything, as a document; a few minutes
#   scripts/replay-accuracy.sh identity RANKS...       captures replayed on their own hardware
#   scripts/replay-accuracy.sh scaling FROM TO...      a capture at FROM ranks against those at TO
#   scripts/replay-accuracy.sh gpus RANKS              H100 to A100 and back
#
# PATTERNS="dp fsdp" takes some of the patterns. Exit status: 1 when an error is above its limit (which
# the table then marks with !), 77 when nothing is built.
set -euo pipefail
export LC_ALL=C

ROOT=$(cd "$(dirname "$0")/.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
SPECTER=$BUILD/specter
for part in specter libspecter.so examples/train examples/measure emu/lib/libnccl.so.2; do
    [[ -e $BUILD/$part ]] || { echo "replay-accuracy.sh: no $part in $BUILD: make all emu"; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/specter-accuracy.XXXXXX")
trap 'rm -rf "$work"' EXIT
. "$ROOT/scripts/recordings.bash"

PATTERNS=${PATTERNS:-dp tp pp fsdp ep}

LIMIT_IDENTITY=1 LIMIT_WAITS=5 LIMIT_SCALING=5 LIMIT_GPUS=8 # per cent
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

# profile FABRIC RANKS...: what `calibrate` makes of examples/measure on so many ranks, in $profile.
profile() {
    local fabric=$1 gpu network ranks fix= more
    profile=$work/$fabric.json
    [[ ! -e $profile ]] || return 0
    read -r gpu network <<<"$(machine "$fabric")"
    mkdir -p "$work/$fabric.measured"
    for ranks in 1 "${@:2}"; do
        launch "$fabric" "$ranks" "$ROOT/examples/launch.sh" -n "$ranks" "$BUILD/examples/measure" \
            --gpu "$gpu" --network stand_in -o "$work/$fabric.measured"
    done
    cat >"$work/$fabric.base.json" <<EOF
{"network": {"name": "stand_in", "base": "$network", "tree_max_bytes": 262144}}
EOF
    # What the rows do not tell keeps the value of the machine's kind: the message names it.
    until "$SPECTER" calibrate "$work/$fabric.measured" -o "$profile" --gpu "$gpu" \
        --network "$work/$fabric.base.json" ${fix:+--fix "$fix"} >"$work/$fabric.fit" 2>"$work/log"; do
        more=$(sed -n 's/.*: --fix \([a-zA-Z0-9_,]*\) is enough$/\1/p' "$work/log")
        [[ -n $more ]] || { cat "$work/log" >&2; exit 3; }
        fix=${fix:+$fix,}$more
    done
    fixed=${fix:-none}
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
    local name ranks from=$1 scales=1 i
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
            row "$(pattern "$name" 3) | $from to $ranks |" \
                "$(ms "$recorded") | $(parts "$own" source.recorded) |" \
                "$(ms "$predicted") | $(parts "$grown" scales.$i) |" \
                "$(limited "$(off "$predicted" "$recorded")" $LIMIT_SCALING)"
        done
    done
}

# gpus RANKS
gpus() {
    local name ranks=$1 from to
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
            row "$(pattern "$name" 3) | $from | $to | $(ms "$recorded") | $(ms "$predicted") |" \
                "$(limited "$(off "$predicted" "$recorded")" $LIMIT_GPUS) | $(shares "$trace.to")"
        done
    done
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

Recordings of examples/train on the stand-in GPU stack (tests/emu), held against replays of other
recordings. \`make accuracy-replay\` wrote this page. The stand-ins move every collective chunk by chunk over
links of their own; nothing of them is shared with the models that a replay uses, which know the machines
through a profile that \`specter calibrate\` fitted to measurements (examples/measure) on them. Figures
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
    printf '\n## On another GPU (%s %%)\n\n' $LIMIT_GPUS
    gpus 8
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
gpus)
    profile h100 2 8
    profile a100 2 8
    gpus "${@:2}"
    ;;
*)
    echo "usage: ${0##*/} [identity RANKS... | scaling FROM TO... | gpus RANKS]" >&2
    exit 2
    ;;
esac
exit $missed

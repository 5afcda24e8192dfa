#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# 64 ranks of the training example, a million operations in all: each is in the traces once, by the
# program's own count, by id, and as a member of the collective that (comm, seq) names. Takes one to
# two minutes and half a gigabyte; prints what is wrong, then one line.
#
#     BUILD=build tests/stress/million.sh [ITERATIONS]
set -euo pipefail
export LC_ALL=C

ROOT=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
ITERATIONS=${1:-450} # of 2240 AllReduces and products each, and of copies
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

LD_LIBRARY_PATH=$BUILD/emu/lib SPECTER_OUTPUT=$PWD/traces LD_PRELOAD=$BUILD/libspecter.so \
    "$ROOT/examples/launch.sh" -n 64 "$BUILD/examples/train" --tp 8 --iters "$ITERATIONS" \
    --hidden 256 --tokens 64 --count "$PWD/count" >/dev/null

wrong=0
complain() {
    echo "$*"
    wrong=1
}

# One rank: its lines against its own counts, ids from 0 on without a gap, nothing dropped.
total=0 made=0
for ((rank = 0; rank < 64; rank++)); do
    file=traces/specter_trace_rank$rank.jsonl
    read -r recorded ids reduces gemms dropped < <(awk '
        /^\{"id":/ { n++; split($0, part, /[:,]/); ids += !(part[2] in seen); seen[part[2]]
                     if (part[2] > most) most = part[2] }
        /^\{"id":.*"op":"AllReduce"/ { reduces++ }
        /^\{"id":.*"op":"GemmEx"/ { gemms++ }
        /"event":"shutdown"/ { sub(/.*"dropped":/, ""); dropped = $0 + 0; end = 1 }
        END { print n + 0, most + 1 == ids ? ids : "gaps", reduces + 0, gemms + 0, end ? dropped : "no end" }
        ' "$file")
    want=$(awk '$1 == "AllReduce" { r = $2 } $1 == "GemmEx" { g = $2 } END { print r, g }' "count.$rank")
    [[ "$reduces $gemms" == "$want" ]] || complain "rank $rank: made $want, recorded $reduces $gemms"
    [[ $ids == "$recorded" ]] || complain "rank $rank: $recorded lines with $ids ids"
    [[ $dropped == 0 ]] || complain "rank $rank: $dropped dropped"
    total=$((total + recorded)) made=$((made + reduces + gemms))
done
((made == 2240 * ITERATIONS)) || complain "$made AllReduces and products"

# Each collective on each of its members once.
grep -h -o '"comm":"[0-9a-f]*","comm_rank":[0-9]*,"comm_size":[0-9]*,"seq":[0-9]*' traces/*.jsonl |
    sed 's/"[a-z_]*"://g; s/"//g' | awk -F, '
    { key = $1 " " $4; if ((key, $2) in seen) { print key " twice on " $2; bad++ } seen[key, $2]
      members[key]++; size[key] = $3 }
    END { for (key in members) if (members[key] != size[key]) { print key " on " members[key] " of " size[key]; bad++ }
          exit bad > 0 }' >uneven || complain "$(head -n 5 uneven)"

echo "$total operations on 64 ranks$([[ $wrong == 0 ]] && echo ", each recorded once")"
exit $wrong

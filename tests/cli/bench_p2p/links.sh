# SPDX-License-Identifier: MIT
# Parameters of the fabric are found: alpha is collective_ns + latency + slice_ns of one message, beta the
# link's rate, of which jitter takes 1.5 % on average. A link that is slow one way is named for that way.
. "$ROOT/tests/cli/bench_collective/common.bash"
# links GPUS LINE...: measures on a fabric with these lines, and compares with them.
links() {
    local gpus=$1
    shift
    echo "-- $gpus GPUs: $*"
    rm -rf emu/*
    printf '%s\n' "$@" >fabric.conf
    EMU_FABRIC=$PWD/fabric.conf "$SPECTER" bench p2p --gpus "$gpus" --sizes 1:64M --json result.json >text || exit 1
    awk 'NR > 16 || length > 80 { print "too long: " $0 }' text
    grep -v '^GB/s\|^ \|^Both ways\|^all to all\|^Checks' text
    python3 - "$@" <<'PY'
import json, sys
alpha, beta = {}, {}
for line in sys.argv[1:]:
    if line.startswith("slow_link"):
        pair, share, *ns = line.split("=")[1].split()
        beta[tuple(map(int, pair.split(">")))] = float(share)
        a, b = map(int, pair.split(">"))
        for way in ((a, b), (b, a)):  # one clock: half of the way there and back
            alpha[way] = alpha.get(way, 0) + float(ns[0] if ns else 0) / 2e3
for link in json.load(open("result.json"))["links"]:
    way = link["src"], link["dst"]
    true_alpha, true_beta = 8.25 + alpha.get(way, 0), 395 * beta.get(way, 1)
    assert abs(link["alpha_us"] / true_alpha - 1) < 0.03, (link, true_alpha)
    assert abs(link["beta_GBps"] / true_beta - 1) < 0.03, (link, true_beta)
    assert link["slow"] == (beta.get(way, 1) < 0.95), link
    assert link["alpha_low_us"] <= link["alpha_us"] <= link["alpha_high_us"], link
PY
}
links 4 '# sound'
links 4 'slow_link = 2>3 0.4'
links 4 'slow_link = 1>3 1 6000'
links 4 'slow_link = 3>0 0.5' 'slow_link = 3>1 0.5' 'slow_link = 3>2 0.5'
links 8 'slow_link = 2>5 0.4' 'slow_link = 7>1 0.9'
links 2 'slow_link = 0>1 0.4'
# Links that are alike and all slow: only the model tells.
rm -rf emu/*
echo 'intra_GBps = 50' >fabric.conf
EMU_FABRIC=$PWD/fabric.conf "$SPECTER" bench p2p --gpus 3 --sizes 1M:64M --network dgx_h100_400g >text 2>/dev/null
sed -n 1,2p text

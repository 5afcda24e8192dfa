# SPDX-License-Identifier: MIT
# Two hosts, two ranks each: with too few common collectives to align their clocks, nothing is
# compared across hosts, wherever it is printed, and the page says so; with enough, all is, with the
# residual beside it. Within a host, collectives of its two ranks are compared either way.
. "$ROOT/tests/cli/analyze_comm/traces.bash"
make() { # COLLECTIVES
    local r i at
    rm -rf traces
    for r in 0 1 2 3; do
        begin $r 4 'NVIDIA H100 80GB HBM3' host$((r / 2))
        echo '{"event":"comm","time_us":0.0,"comm":"h'$((r / 2))'","comm_rank":'$((r % 2))',"comm_size":2,"device":0}' >>"$out"
        for ((i = 0; i < $1; i++)); do
            at=$((1000000 * (r / 2) + 1000 * i)) # the second host's clock is 1 s ahead
            op AllReduce $i $((at + 30 * r)) $((at + 400)) 4194304
            op AllReduce $i $((at + 500 + 7 * (r % 2))) $((at + 600)) 4194304
            sed -i '$ s/"comm":"c","comm_rank":[0-9]*,"comm_size":4/"comm":"h'$((r / 2))'","comm_rank":'$((r % 2))',"comm_size":2/' "$out"
        done
        finish
    done
}
for n in 4 20; do
    make $n
    "$SPECTER" analyze --full --json page.json 2>/dev/null | sed -n '2,5p;/Straggler:/p'
    "$SPECTER" analyze --full --table stragglers 2>/dev/null | tail -3
    "$SPECTER" analyze --full --table collective_instances --format csv 2>/dev/null | sed -n '1p;/^c,2,/p;/^h0,2,/p;/^h1,2,/p' |
        cut -d, -f 1,2,12-14,18-22
    "$SPECTER" metrics --metric straggler_lag 2>/dev/null | head -3
done

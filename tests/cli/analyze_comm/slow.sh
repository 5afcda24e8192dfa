# SPDX-License-Identifier: MIT
# Four AllReduces of 64 MiB on eight H100, each in 3 ms, where the model expects a small part of that: a
# finding. On the network that is named instead, it is as expected. What no profile is, is refused.
. "$ROOT/tests/cli/analyze_comm/traces.bash"
for ((r = 0; r < 8; r++)); do
    begin $r 8 'NVIDIA H100 80GB HBM3'
    for ((i = 0; i < 4; i++)); do
        op AllReduce $i $((5000 * i + 10 * r)) $((5000 * i + 3070)) 67108864
    done
    finish
done
# The model's numbers for this machine change with its parameters; the sentences do not.
masked() { sed -E 's/[0-9.]+ %/N %/g; s/the [0-9.]+ GB/the N GB/'; }
"$SPECTER" analyze --full --json slow.json | grep -A5 '[0-9]. Slow' | masked
echo ---
"$SPECTER" analyze --full --table collective_instances
for machine in '' '--gpu h100_pcie --network cloud_pcie_100g'; do
    "$SPECTER" analyze --full $machine --table expected --format csv >rows
    head -1 rows
    awk -F, 'NR > 1 {
        off = $9 / $10 - $11
        same = off < 1e-9 && -off < 1e-9
        print $1, $2, $3, $5, "nodes", $6, "of", $7, "busbw", $9, same ? "consistent" : off
        print $11 < 0.5 ? "slow" : "as expected"
    }' rows
    "$SPECTER" analyze --full $machine | grep -c 'Slow collective'
done
grep -c '"slow_collective"' slow.json
for wrong in '--network nonsense' '--gpu nonsense' '--network nonsense.json'; do
    "$SPECTER" analyze --full $wrong
    echo "status $?"
done

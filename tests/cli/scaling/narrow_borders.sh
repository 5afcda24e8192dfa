# SPDX-License-Identifier: MIT
# Borders of a ring on nodes with slow NICs: each rank has one group of messages both ways, so that all ranks are tied,
# and of each node two send over a NIC. These messages take the time that the ends of the groups on both sides show.
. "$ROOT"/tests/cli/scaling/common.bash
[[ -x $BUILD/emu/programs ]] || { echo "no programs built: make emu"; exit 77; }
sed 's/^\(inter_GBps\|inter_latency_ns\|gpus_per_node\) .*//' "$ROOT/tests/emu/fabric/h100.conf" >narrow.conf
printf '%s\n' 'inter_GBps = 23' 'inter_latency_ns = 11000' 'gpus_per_node = 4' >>narrow.conf
cat >narrow.json <<'END'
{"network": {"name": "narrow", "base": "dgx_h100_400g", "gpus_per_node": 4, "nics_per_node": 4, "nic_Gbps": 200}}
END
for ranks in 8 16; do
    EMU_FABRIC=$PWD/narrow.conf LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o $ranks -- \
        "$ROOT/examples/launch.sh" -g 4 -n $ranks "$BUILD/emu/programs" halo --steps 5 >log 2>&1 || { cat log; exit 1; }
done
replay 8 grown --scale 1,2 --from-network narrow.json --network narrow.json
replay 16 own --scale 1 --from-network narrow.json --network narrow.json
{
    get grown source.recorded.iteration_us
    get grown source.replayed.iteration_us
    get grown scales.1.iteration_us
    get own source.recorded.iteration_us
} | paste -s -d ' ' | awk '{
    print ($2 < 1.01 * $1 && $2 > 0.99 * $1 ? "own: within 1 %" : "own: " $0)
    print ($3 < 1.05 * $4 && $3 > 0.95 * $4 ? "16 ranks: within 5 %" : "16 ranks: " $0) }'

# SPDX-License-Identifier: MIT
# A parameter server on nodes whose NICs are far slower than the links inside: the root runs ahead of them, so what
# others end later by holds the time of the NICs, which more ranks do not lengthen. What 16 ranks take lies inside
# the interval that 8 ranks tell, whose error counts for such lags, too.
. "$ROOT"/tests/cli/scaling/common.bash
[[ -x $BUILD/emu/programs ]] || { echo "no programs built: make emu"; exit 77; }
sed 's/^\(inter_GBps\|inter_latency_ns\|gpus_per_node\) .*//' "$ROOT/tests/emu/fabric/h100.conf" >narrow.conf
printf '%s\n' 'inter_GBps = 23' 'inter_latency_ns = 11000' 'gpus_per_node = 4' >>narrow.conf
cat >narrow.json <<'END'
{"network": {"name": "narrow", "base": "dgx_h100_400g", "gpus_per_node": 4, "nics_per_node": 4, "nic_Gbps": 200,
 "tuner": [{"op": "AllReduce", "max_bytes": 262144, "algo": "tree", "proto": "Simple"},
  {"algo": "ring", "proto": "Simple"}]}}
END
for ranks in 8 16; do
    EMU_FABRIC=$PWD/narrow.conf LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o $ranks -- \
        "$ROOT/examples/launch.sh" -g 4 -n $ranks "$BUILD/emu/programs" server --steps 5 >log 2>&1 || { cat log; exit 1; }
done
replay 16 own --scale 1 --from-network narrow.json --network narrow.json
replay 8 grown --scale 2 --from-network narrow.json --network narrow.json
{
    get own source.recorded.iteration_us
    get grown scales.0.iteration_us
    awk '$1 == "scales.0.interval80" { gsub(/[][,]/, ""); print $2, $3 }' grown
} | paste -s -d ' ' | awk '{
    print ($3 <= $1 && $1 <= $4 ? "inside the interval" : "outside: " $0)
    print ($2 < 1.2 * $1 && $2 > 0.8 * $1 ? "less than 20 % off" : "off: " $0) }'

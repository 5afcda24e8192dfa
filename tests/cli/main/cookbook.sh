# SPDX-License-Identifier: MIT
# docs/cookbook.md shows what commands print (`make doc-examples`); on recordings of others the first screen answers, too.
cp "$ROOT/docs/cookbook.md" .
here=$PWD
(cd "$ROOT" && scripts/doc-examples.sh "$here/cookbook.md")
diff "$ROOT/docs/cookbook.md" cookbook.md
# says WORDS COMMAND...: within 14 lines.
says() {
    "$SPECTER" "${@:2}" 2>/dev/null | head -n 14 | tr -s ' \n' ' ' | grep -q "$1" || echo "not said: $1: specter ${*:2}"
}
traces=$SHARED/data/traces
[[ -n $SHARED && -e $traces/param ]] || exit 0
says 'Host-bound: GPUs wait for launches' analyze "$traces/param/dlrm_kineto.tar.gz"
says 'Straggler: rank 7 starts last in 5 of its 8' analyze "$traces/param/dlrm_kineto.tar.gz"
says '64 v100_sxm: \|64 of them: ' replay "$traces/param/dlrm_kineto.tar.gz" --gpus 64,512
says '8 h100_sxm: 13.3 ms' replay "$traces/param/dlrm_kineto.tar.gz" --gpu h100
says 'ranks 12, 14 block the others' analyze "$traces/flight_recorder/gpu_error_1st"
says 'ranks 9, 14 have not called' analyze "$traces/flight_recorder/lock_gil_1st"

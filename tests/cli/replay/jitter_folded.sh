# SPDX-License-Identifier: MIT
# What variation costs 4 ranks at scale 4, most of them folded into order statistics, is what it costs a
# capture of 16 ranks, all of which are simulated: within a quarter, by data, tensor and pipeline parallelism
# and with sharded parameters.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }

# share DIR RANKS SCALE OPTION...: what 5 % of variation adds to the mean iteration, as a share.
share() {
    LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o $1 -- "$ROOT/examples/launch.sh" -n $2 \
        "$BUILD/examples/train" --layers 6 --iters 5 "${@:4}" >capture.out 2>&1 || { cat capture.out; exit 1; }
    "$SPECTER" replay $1 --jitter 5 --draws 100 --scale $3 --json $1.json >/dev/null || exit
    awk '/"scales"/ { on = 1 } on && /"(iteration|mean)_us"/ { gsub(/[^0-9.]/, ""); at[++n] = $1 }
         END { print at[2] / at[1] - 1 }' $1.json
}

for options in "" "--tp 2" "--pp 2" "--fsdp"; do
    folded=$(share few 4 4 $options) all=$(share many 16 1 $options)
    awk -v folded="$folded" -v all="$all" -v options="${options:---dp}" 'BEGIN {
        agrees = folded > 0.75 * all && folded < 1.25 * all && all > 0.005
        print options, agrees ? "agrees" : folded " " all }'
    rm -r few many
done

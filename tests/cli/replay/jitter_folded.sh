# SPDX-License-Identifier: MIT
# What variation costs a capture of 16 ranks, all of them simulated, is what it costs when the operations
# of 4 are known, which stand for the others as order statistics: 15 % less to 25 % more, by data, tensor and
# pipeline parallelism and with sharded parameters.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }

# cost DIR: what 5 % of variation adds to the mean iteration, and the iteration without, in us.
cost() {
    "$SPECTER" replay $1 --jitter 5 --draws 100 --scale 1 --json $1.json >/dev/null 2>&1 || [[ $? == 4 ]] || exit
    awk '/"scales"/ { on = 1 } on && /"(iteration|mean)_us"/ { gsub(/[^0-9.]/, ""); at[++n] = $1 }
         END { print at[2] - at[1], at[1] }' $1.json
}

for options in "" "--tp 2" "--pp 2" "--fsdp"; do
    LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o all -- "$ROOT/examples/launch.sh" -n 16 \
        "$BUILD/examples/train" --layers 6 --iters 5 $options >capture.out 2>&1 || { cat capture.out; exit 1; }
    mkdir few
    for file in all/*.jsonl; do
        rank=${file##*rank} rank=${rank%.jsonl}
        # Two ranks of each of two replicas; with stages, of both.
        if ((rank % 8 < 2)); then
            cp "$file" few/
        else
            grep '"event"' "$file" >few/"${file##*/}"
        fi
    done
    read -r all base < <(cost all)
    read -r folded own < <(cost few)
    awk -v all="$all" -v base="$base" -v folded="$folded" -v own="$own" -v options="${options:---dp}" 'BEGIN {
        agrees = folded > 0.85 * all && folded < 1.25 * all && all > 0.005 * base
        same = own > 0.99 * base && own < 1.01 * base
        print options, agrees && same ? "agrees" : folded " of " own ", " all " of " base }'
    rm -r all few
done

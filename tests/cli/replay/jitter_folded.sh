# SPDX-License-Identifier: MIT
# Variation costs a capture of 16 ranks, all of them simulated, as much as when the operations
# of 4 are known, which stand for the others as order statistics: 5 % less to 15 % more, by data, tensor and
# pipeline parallelism and with sharded parameters. That is so where operations vary by 10 %, which is more
# than ranks differ for good, by their places in rings. Where they vary by 2 %, which is less, it comes out
# too large, by up to 75 %: the rank that is always last stands for others as late as itself.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }

# cost DIR PCT: what so much variation adds to the mean iteration, and the iteration without, in us.
cost() {
    "$SPECTER" replay --full $1 --jitter $2 --draws 100 --scale 1 --json $1.json >/dev/null 2>&1 || [[ $? == 4 ]] || exit
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
    for bound in "10 1.15" "2 1.75"; do
        read -r percent most <<<"$bound"
        read -r all base < <(cost all "$percent")
        read -r folded own < <(cost few "$percent")
        awk -v all="$all" -v base="$base" -v folded="$folded" -v own="$own" -v most="$most" \
            -v what="${options:---dp}, $percent %:" 'BEGIN {
            agrees = folded > 0.95 * all && folded < most * all && all > 0.003 * base
            same = own > 0.99 * base && own < 1.01 * base
            print what, agrees && same ? "agrees" : folded " of " own ", " all " of " base }'
    done
    rm -r all few
done

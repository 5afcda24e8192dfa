# SPDX-License-Identifier: MIT
# Operations of a few ranks are enough when every rank says who it is: the others are like those of
# their pipeline stage. Of a stage without a recorded rank
# only what messages to it waited is known.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }

# capture_train DIR RANKS [OPTION...]
capture_train() {
    LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o $1 --ranks $2 -- "$ROOT/examples/launch.sh" \
        -n 8 "$BUILD/examples/train" --iters 4 "${@:3}" >capture.out 2>&1 || { cat capture.out; exit 1; }
}

look() {
    "$SPECTER" replay --full $1 --scale 1 >out.txt
    echo "status $?"
    sed -n 's/^recording .*, \(.* ranks\)/    \1/p' out.txt
    sed -n '/^parallelism/,/^iteration/{/^iteration/!p}' out.txt
    awk '$1 == "iteration" { gsub(/[(%)+-]/, ""); print "    " ($NF <= 1 ? "within 1 %" : $0) }' out.txt
    grep -A1 'no operations' out.txt
}

capture_train tensor 0 --tp 2
look tensor
capture_train pipeline 0,4 --pp 2 --tp 2
look pipeline

# Nor need the recorded ranks of two stages talk to each other: what rank 0 sends, rank 7 receives in
# place of rank 4. Also at other scales it makes no difference that six ranks are missing.
capture_train across 0,7 --pp 2 --tp 2
capture_train whole 0-7 --pp 2 --tp 2
for dir in across whole; do
    "$SPECTER" replay --full $dir --scale 1,4,64 --json $dir.json >/dev/null
    awk '/"scales"/ { on = 1 } /"ranks"/ { on = 0 } on && /"iteration_us"/ { gsub(/[^0-9.]/, ""); print }' \
        $dir.json >$dir.times
done
paste across.times whole.times | awk '{ print ($1 > 0.99 * $2 && $1 < 1.01 * $2) ? "the same" : $0 }'

capture_train stage 0 --pp 2
look stage
echo "a stage is missing"

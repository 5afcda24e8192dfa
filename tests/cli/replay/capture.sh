# SPDX-License-Identifier: MIT
# A capture replayed on its own hardware gives its own iteration time within 1 %, at 2, 8 and 16 ranks,
# with copies, and kernels that are only counted. Where there are no such kernels, also when every
# recorded device start is nonsense: what the kernels took is read from differences of these.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }

# iteration_us of `$2` (recorded or replayed) in $1.json.
iteration() {
    awk -v key="\"$2\":" '$1 == key { on = 1 } on && /iteration_us/ { gsub(/[^0-9.]/, ""); print; exit }' $1.json
}

# capture_train DIR RANKS [OPTION...]
capture_train() {
    LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o $1 -- "$ROOT/examples/launch.sh" -n $2 \
        "$BUILD/examples/train" --tp 2 --iters 5 "${@:3}" >capture.out 2>&1 || { cat capture.out; exit 1; }
}

# scramble FROM TO SEED
scramble() {
    mkdir $2
    for file in $1/*.jsonl; do
        awk -v seed=$3 'BEGIN { srand(seed) }
            /"start_us"/ { sub(/"start_us":-?[0-9.]+/, sprintf("\"start_us\":%.3f", rand() * 1e6)) }
            { print }' "$file" >"$2/${file##*/}"
    done
}

for ranks in 2 8 16; do
    capture_train trace$ranks $ranks
    "$SPECTER" replay --full trace$ranks --scale 1 --json own.json >/dev/null || exit 1
    capture_train plain$ranks $ranks --no-kernels
    "$SPECTER" replay --full plain$ranks --scale 1 --json plain.json >/dev/null || exit 1
    scramble plain$ranks scrambled$ranks $ranks
    "$SPECTER" replay --full scrambled$ranks --scale 1 --json scrambled.json >/dev/null || exit 1
    awk -v ranks=$ranks -v recorded="$(iteration own recorded)" -v own="$(iteration own replayed)" \
        -v plain="$(iteration plain recorded)" -v scrambled="$(iteration scrambled replayed)" '
        function near(a, b) { return b > 0 && a > 0.99 * b && a < 1.01 * b }
        BEGIN {
            good = near(own, recorded) && near(scrambled, plain) && recorded > plain
            print ranks, "ranks", good ? "within 1 %" : recorded " " own ", " plain " " scrambled
        }'
done

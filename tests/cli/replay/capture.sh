# SPDX-License-Identifier: MIT
# A capture replayed on its own hardware gives its own iteration time within 1 %, at 2, 8 and 16 ranks,
# also when every recorded device start is nonsense.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }

# iteration_us of `$2` (recorded or replayed) in $1.json.
iteration() {
    awk -v key="\"$2\":" '$1 == key { on = 1 } on && /iteration_us/ { gsub(/[^0-9.]/, ""); print; exit }' $1.json
}

for ranks in 2 8 16; do
    LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o trace$ranks -- "$ROOT/examples/launch.sh" \
        -n $ranks "$BUILD/examples/train" --tp 2 --iters 5 >capture.out 2>&1 || { cat capture.out; exit 1; }
    "$SPECTER" replay trace$ranks --scale 1 --json own.json >/dev/null || exit 1
    mkdir scrambled$ranks
    for file in trace$ranks/*.jsonl; do
        awk -v seed=$ranks 'BEGIN { srand(seed) }
            /"start_us"/ { sub(/"start_us":-?[0-9.]+/, sprintf("\"start_us\":%.3f", rand() * 1e6)) }
            { print }' "$file" >"scrambled$ranks/${file##*/}"
    done
    "$SPECTER" replay scrambled$ranks --scale 1 --json scrambled.json >/dev/null || exit 1
    awk -v ranks=$ranks -v recorded="$(iteration own recorded)" -v own="$(iteration own replayed)" \
        -v scrambled="$(iteration scrambled replayed)" '
        function off(a) { return a > recorded ? a / recorded - 1 : 1 - a / recorded }
        BEGIN {
            good = recorded > 0 && off(own) <= 0.01 && off(scrambled) <= 0.01
            print ranks, "ranks", good ? "within 1 %" : recorded " " own " " scrambled
        }'
done

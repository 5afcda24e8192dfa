# A second capture into the same folder is a second run; of the first no byte changes.
export LD_LIBRARY_PATH=$BUILD/emu/lib
capture() {
    "$SPECTER" capture -o traces -- "$ROOT/examples/launch.sh" -n 2 "$BUILD/examples/train" \
        --iters "$1" --layers 1 --buckets 1 --hidden 64 --tokens 64 2>&1 >/dev/null | sed 's/; next.*//'
}
capture 1
(cd traces && sha256sum *.jsonl) >sums
capture 2
ls traces | wc -l
(cd traces && sha256sum --quiet -c ../sums)
head -q -n 1 traces/*.jsonl | grep -o '"run":"[^"]*"' | sort | uniq -c | awk '{ print $1 }'

# SPDX-License-Identifier: MIT
# A dump of a job that runs on holds what is under way, with the moment of the dump: nothing hangs in
# it. In the file of a flight recorder as in an ordinary trace.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }
for ring in 0 500; do
    LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture --ring $ring -o traces$ring -- \
        "$ROOT/examples/launch.sh" -n 2 "$BUILD/examples/train" --tp 2 --iters 100000 --hidden 256 \
        --tokens 64 >/dev/null 2>&1 &
    pid=$!
    for ((i = 0; i < 200; i++)); do
        [[ $(grep -ls '"op":"AllReduce"' traces$ring/*.jsonl | wc -l) == 2 ]] && break
        sleep 0.05
    done
    "$SPECTER" dump -o dump$ring traces$ring 2>/dev/null
    kill $pid
    wait $pid
    for file in dump$ring/*.jsonl; do
        echo "$(grep -c '"event":"dump"' "$file") dump record"
    done
    "$SPECTER" analyze --full --fail-on 'hangs>0' dump$ring >analysis 2>/dev/null || [[ $? == 4 ]] ||
        { echo "status $?"; grep -A 3 Hang analysis; }
done

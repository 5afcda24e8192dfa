# SPDX-License-Identifier: MIT
# Where communication overlaps with communication and with products, captures hold the same records
# with the same times, however the machine is loaded and the ranks are scheduled. A starved tracer
# leaves times out at the end (`timing` none, by its real-time limit): such records are left out here.
export LD_LIBRARY_PATH=$BUILD/emu/lib
# capture FILE PREFIX OPTIONS: the timed records of all ranks, without who ran.
capture() {
    "$SPECTER" capture -o traces -- $2 "$ROOT/examples/launch.sh" -n 8 "$BUILD/examples/train" $3 \
        --iters 2 --hidden 1024 --tokens 512 >/dev/null 2>&1
    for file in traces/*.jsonl; do
        grep '"timing":"device"' "$file" | sed "s/^/${file##*/} /"
    done >"$1"
    rm -r traces
}
# differing FILE FILE: records of both that differ, and whether there were enough to compare
differing() {
    awk '{ match($0, /"id":[0-9]*/); id = $1 substr($0, RSTART, RLENGTH) }
        NR == FNR { one[id] = $0; next }
        id in one { both++; if (one[id] != $0) print substr(one[id], 1, 200) "\n" substr($0, 1, 200) }
        END { if (both < 200) print "too few records: " both }' "$1" "$2" | head -n 10
}

spin() { while :; do :; done; }
for mode in '--tp 2 --buckets 4' '--fsdp --tp 2' '--ep 4' '--pp 2 --tp 2'; do
    capture first "" "$mode"
    spin & spins=$!
    capture second "nice -n 5" "$mode"
    kill $spins
    capture third "taskset -c 0" "$mode"
    differing first second
    differing first third
    echo "$mode: compared"
done
# And without competition it takes other times: there was some.
echo 'contention = 0' >alone.conf
EMU_FABRIC=$PWD/alone.conf capture alone "" '--fsdp --tp 2'
capture first "" '--fsdp --tp 2'
[ "$(differing alone first | wc -l)" -gt 1 ] || echo "no operation met another"

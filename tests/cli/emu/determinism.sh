# SPDX-License-Identifier: MIT
# Two runs give the same virtual times to the nanosecond, whatever else the machine does; and so does
# another way of starting. Another seed gives others.
export LD_LIBRARY_PATH=$BUILD/emu/lib
run() { "$ROOT/examples/launch.sh" -n 8 "$BUILD/emu/check_times" "$PWD/$1" 20; }

mkdir idle busy nice other
run idle/times || exit
busy=()
for _ in 1 2; do
    (while :; do :; done) &
    busy+=($!)
done
run busy/times
nice -n 19 "$ROOT/examples/launch.sh" -n 8 "$BUILD/emu/check_times" "$PWD/nice/times" 20
kill "${busy[@]}"
echo 'seed = 2' >seed.conf
EMU_FABRIC=$PWD/seed.conf run other/times
diff -rq idle busy
diff -rq idle nice
cmp -s idle/times.3 other/times.3 && echo "the seed changes nothing"
awk 'END { print (NR > 80 ? "compared" : "too few times") }' idle/times.3

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
printf '%s\n' 'slow_link = 2>3 0.5' 'hot_gpu = 5 10' 'thermal_s = 0.001' 'throttle_celsius = 40' \
    'clock_ppm = 1 30' 'host_ppm = 0 5' 'host_offset_ns = 0 1000' 'll_bytes = 4096' 'll128_bytes = 65536' >keys.conf
mkdir keys again
EMU_FABRIC=$PWD/keys.conf run keys/times
EMU_FABRIC=$PWD/keys.conf nice -n 19 "$ROOT/examples/launch.sh" -n 8 "$BUILD/emu/check_times" "$PWD/again/times" 20
diff -rq keys again
cmp -s idle/times.5 keys/times.5 && echo "the keys change nothing"
echo 'seed = 2' >seed.conf
EMU_FABRIC=$PWD/seed.conf run other/times
diff -rq idle busy
diff -rq idle nice
cmp -s idle/times.3 other/times.3 && echo "the seed changes nothing"
awk 'END { print (NR > 80 ? "compared" : "too few times") }' idle/times.3

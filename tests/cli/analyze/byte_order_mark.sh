# A byte order mark, which some editors put before any text, changes nothing: in traces of every format
# that is text, plain, compressed and in an archive, in profiles, tables and cards.
mark() { printf '\xEF\xBB\xBF' | cat - "$1"; }
check() {
    local file
    rm -rf marked packed && mkdir marked packed
    for file in "$1"/*; do
        mark "$file" >"marked/${file##*/}"
        mark "$file" | gzip >"packed/${file##*/}.gz"
    done
    tar cf marked.tar -C marked .
    (cd "$1" && "$SPECTER" analyze --full . --json "$OLDPWD/plain.json" >"$OLDPWD/plain.txt" 2>"$OLDPWD/plain.err")
    for file in marked packed marked.tar; do
        "$SPECTER" analyze --full "$file" --json got.json >got.txt 2>got.err
        diff <(sed 1d plain.txt) <(sed 1d got.txt) >/dev/null && echo "$2, $file: the same" ||
            { echo "$2, $file: differs"; cat got.err; }
    done
}
check "$TESTDATA/two_ranks" specter
check "$TESTDATA/kineto_torch211" kineto
. "$ROOT/tests/cli/flight/flight.bash"
for r in {0..3}; do
    begin "$r" 4
    call all_reduce 1024 completed 0.2
    finish
done
check "$PWD/dumps" flight
"$SPECTER" profiles gpu h100_sxm --json >gpu.json
mark gpu.json >marked.json
for file in gpu.json marked.json; do
    "$SPECTER" predict gemm -m 4096 -n 4096 -k 4096 --gpu "$file" >"$file.txt" 2>&1
done
cmp gpu.json.txt marked.json.txt && echo "a profile: the same"
printf '%s\n' '0 a' '1 a' '2 b' '3 b' >hosts
mark hosts >marked.hosts
for file in hosts marked.hosts; do
    "$SPECTER" replay --full "$TESTDATA/two_ranks" --gpu h100_sxm --scale 2 --placement "file=$file" >"$file.txt" 2>&1
    echo "status $?"
done
cmp hosts.txt marked.hosts.txt && echo "a list of hosts: the same"

# A rank that called nothing more, and one whose recorder holds nothing at all.
. "$ROOT/tests/cli/flight/flight.bash"
for r in {0..3}; do
    begin "$r" 4
    call all_reduce 1024 completed
    [[ $r != 2 ]] && call _allgather_base 4096 started
    finish
done
hang
echo "-- a rank without one call"
for r in {0..3}; do
    begin "$r" 4
    [[ $r != 3 ]] && call broadcast 1024 started
    finish
done
hang

# A rank that left out one collective: its later ones have the others' numbers less one.
. "$ROOT/tests/cli/flight/flight.bash"
for r in {0..7}; do
    begin "$r"
    call all_reduce 1024 completed
    call all_reduce 2048 completed
    [[ $r != 5 ]] && call all_reduce 4096 started
    call all_reduce 8192 "$([[ $r == 5 ]] && echo started || echo scheduled)"
    finish
done
hang

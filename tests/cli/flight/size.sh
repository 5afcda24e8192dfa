# One rank reduces another size than the others.
. "$ROOT/tests/cli/flight/flight.bash"
for r in {0..3}; do
    begin "$r" 4
    call all_reduce 1024 completed
    call all_reduce "$([[ $r == 1 ]] && echo 3072 || echo 2048)" started
    finish
done
hang

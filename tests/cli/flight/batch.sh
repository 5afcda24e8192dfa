# A ring of batched sends and receives (batch_isend_irecv), in which one rank makes no third batch: with
# all records, and where the ring has lost the first ones, so that messages have no numbers.
. "$ROOT/tests/cli/flight/flight.bash"
# batch STATE: one to the next rank and one from the one before; the entry behind them has the state
batch() {
    p2p=$((p2p + 1))
    add "send $rank->$(((rank + 1) % world))" 256 scheduled "$seq" "$p2p" true
    add "recv $rank<-$(((rank + world - 1) % world))" 256 scheduled "$seq" "$p2p" true
    add coalesced 0 "$1" "$seq" "$p2p" true
}
for first in 0 500; do
    echo "-- records from $first on"
    for r in {0..4}; do
        begin "$r" 5
        n=$first
        batch completed
        batch completed
        [[ $r == 3 ]] || batch started
        call all_reduce 1024 scheduled
        finish
    done
    hang
done

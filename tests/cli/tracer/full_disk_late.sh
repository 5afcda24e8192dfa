# A disk that fills while an operation waits: its line, written as not finished, is among the last ones
# that give way to the closing record. The counts are right whether it ends or not.
. "$ROOT/tests/cli/tracer/common.bash"
small_disk 256k
for end in ends never; do
    for steps in 5 22; do
        traced small/out "$FLIGHT" late $steps small/filler $end 2>err || fail "the program felt it"
        check small/out/*
        grep -q '"stopped":"No space left on device"' small/out/* || fail "no reason"
        read -r ended left < <(balance small/out/*)
        [[ $end == ends ]] || ((ended += left)) # what never ends and is there is not dropped
        echo "$end: $ended records"
        rm -r small/*
    done
done

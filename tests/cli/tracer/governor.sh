# Recording that takes more of the program's time than it may: fewer GEMMs, and the file says from when
# on; NCCL's are all there. Only with the machine's own clock, in which costs mean something.
. "$ROOT/tests/cli/tracer/common.bash"
EMU_CLOCK=real SPECTER_OVERHEAD=0.0001 timeout 1.6 env SPECTER_OUTPUT=out LD_PRELOAD="$PRELOAD" "$FLIGHT" survive log 0
check --torn out/*
grep -o '"of":"cublas","rate":2,"why":"governor"' out/*
gemms=$(grep -c '"type":"cublas"' out/*)
reduced=$(grep -c '"op":"AllReduce"' out/*)
((gemms < 8 * reduced)) || fail "$gemms GEMMs beside $reduced AllReduces"
ops out/*.jsonl op seq | awk '$2 == "AllReduce" && $4 != n++ { print "not", n - 1, "but", $4 }'
# A rate that is no power of two stops at the largest.
SPECTER_SAMPLE=768 EMU_CLOCK=real SPECTER_OVERHEAD=0.0000001 timeout 1.6 env SPECTER_OUTPUT=most LD_PRELOAD="$PRELOAD" \
    "$FLIGHT" survive log 0
grep -o '"of":"cublas","rate":[0-9]*,"why":"governor"' most/*
SPECTER_OVERHEAD=0.0001 traced virtual "$FLIGHT" steps 200 20000000 || exit 1
! grep -q governor virtual/* || fail "governed in virtual time"

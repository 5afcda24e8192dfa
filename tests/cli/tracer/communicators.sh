# Splits: identity, order, names, a handle that is written by ncclGroupEnd, a colour that leaves out.
. "$ROOT/tests/cli/tracer/common.bash"
traced out "$CALLS" splits || exit 1
check out/*
grep -h '"event":"comm"' out/* | sed 's/"time_us":[0-9.]*,//; s/"[0-9a-f]\{16\}"/ID/g' | sort
# Each operation refers to a communicator that has a line.
for id in $(ops out/*.jsonl comm | awk '{ print $2 }' | sort -u); do
    grep -q "\"event\":\"comm\".*\"comm\":\"$id\"" out/* || fail "no line for $id"
done
# Non-blocking: what is launched later than we can see has no time.
traced late "$CALLS" nonblocking || exit 1
check late/*
ops late/*.jsonl op count seq start_us duration_us timing

# Graphs: what is captured names its capture and has no time; a launch names the capture, is timed,
# and the first lists the operations. A graph built by hand has no capture.
. "$ROOT/tests/cli/tracer/common.bash"
traced out "$BUILD/tracer/work" graphs || exit 1
check out/*
ops out/*.jsonl type op kind graph launch timing
sed -n '/"type":"graph"/s/.*\("graph":.*\),"start_us.*/\1/p' out/*.jsonl
sed -n '/"untraced"/{s/,"device.*"max_gap_us":[0-9.]*//; p}' out/*.jsonl
sed -n 's/.*"timing":\({[^}]*}\).*/\1/p' out/*.jsonl

echo failed
traced failed "$BUILD/tracer/work" failed_capture || exit 1
check failed/*
sed -n '/"untraced"/{s/,"device.*"max_gap_us":[0-9.]*//; p}' failed/*.jsonl

# A handle that is destroyed and comes back is a new stream or event; ids never run out.
. "$ROOT/tests/cli/tracer/common.bash"
traced streams "$STRESS" streams_anew || fail "status $?"
check streams/*
[[ $(ops streams/*.jsonl stream | sort -u | wc -l) == 100 ]] || fail "streams that were made anew share a number"
EMU_CLOCK=real traced events "$STRESS" a_million_events || fail "status $?"
check events/*
[[ $(closing events/*.jsonl dropped) == 0 ]] || fail "records were dropped"
[[ $(grep -o '"cuda_event":[0-9]*' events/*.jsonl | sort -u | wc -l) == 10000 ]] || fail "not a number for each event"

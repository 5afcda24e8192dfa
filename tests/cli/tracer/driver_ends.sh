# At exit the driver ends itself, after which no event answers. A driver that was initialised behind the
# first traced call still comes after the tracer; one that has ended all the same leaves operations
# without a device time, and nobody waiting.
. "$ROOT/tests/cli/tracer/common.bash"
EMU_EXIT=deinitialize traced late "$STRESS" driver_comes_late || fail "status $?"
check late/*
ops late/*.jsonl timing | sort | uniq -c | awk '{ print $1, $3 }'
EMU_EXIT=deinitialize traced gone "$STRESS" driver_goes_first || fail "status $?"
check gone/*
ops gone/*.jsonl count timing | grep 'count 2 '
closing gone/*.jsonl dropped

# One thread exits while another is in one hook after the other: the status is the program's, and the
# file ends as it should.
. "$ROOT/tests/cli/tracer/common.bash"
EMU_CLOCK=real traced out "$STRESS" exit_beside
echo "status $?"
check out/*
[[ $(grep -c '^{"id"' out/*.jsonl) == "$(closing out/*.jsonl total_ops)" ]] || fail "not the lines of the summary"

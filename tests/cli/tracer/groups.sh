# Nested groups over two devices of one process: operations share their stream's times; a group that
# fails leaves nothing, nor does a call that fails.
. "$ROOT/tests/cli/tracer/common.bash"
traced out "$CALLS" groups || exit 1
check out/*
ops out/*.jsonl op count comm_rank seq device stream group timing
# One start and one duration a group and stream.
[[ $(ops out/*.jsonl group stream start_us duration_us | sort -u | wc -l) == 4 ]] || fail "times are not shared"
# The last operation's call ends where the group ends, so host intervals do not overlap.
ops out/*.jsonl host_us host_end_us | awk '$2 < end { print "overlap at " $2 } { end = $4 }'

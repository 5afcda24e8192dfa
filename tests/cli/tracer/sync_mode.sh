# --sync: host times around synchronised calls, on the host's clock.
. "$ROOT/tests/cli/tracer/common.bash"
for scenario in collectives gemms groups default_streams; do
    SPECTER_SYNC=1 traced $scenario "$CALLS" $scenario || exit 1
    check $scenario/*
    ops $scenario/*.jsonl timing | sort | uniq -c
    grep -q '"sync_mode":1' $scenario/*.jsonl || fail "sync_mode is not said"
done
# The clock record is the identity: mono_ns - dev = init.mono_ns.
awk -F'[:,]' '/"init"/ { for (i = 1; i < NF; i++) if ($i == "\"mono_ns\"") origin = $(i + 1) }
    /"clock"/ { for (i = 1; i < NF; i++) { if ($i == "\"mono_ns\"") mono = $(i + 1); if ($i == "\"dev_us\"") dev = $(i + 1) }
                if (mono - origin != dev * 1000) print "clock: " $0 }' collectives/*.jsonl
# Each operation takes at least as long as its own call.
ops gemms/*.jsonl start_us duration_us host_us host_end_us |
    awk '$2 > $6 || $2 + $4 < $8 - 0.0005 { print "not around the call: " $0 }'

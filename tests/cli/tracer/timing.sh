# Times of the device: in order on a stream, behind the call that issued them, the same in every run.
. "$ROOT/tests/cli/tracer/common.bash"
for run in 1 2; do
    traced run$run "$CALLS" gemms || exit 1
    grep -v '"init"' run$run/*.jsonl | sed 's/"real_ns":[0-9]*//' | sort >lines$run
done
cmp lines1 lines2 || exit 1
ops run1/*.jsonl start_us duration_us host_us | awk '$2 < $6 { print "before its call: " $0 }
    $2 < end - 0.02 { print "before the one in front ends: " $0 } { end = $2 + $4 }'
# The clocks: device time 0 is init.mono_ns.
awk -F'[:,]' '/"init"/ { for (i = 1; i < NF; i++) if ($i == "\"mono_ns\"") origin = $(i + 1) }
    /"clock"/ { n++; for (i = 1; i < NF; i++) { if ($i == "\"mono_ns\"") mono = $(i + 1); if ($i == "\"dev_us\"") dev = $(i + 1) }
                if (mono - origin != int(dev * 1000 + (dev < 0 ? -0.5 : 0.5))) print "clock: " $0 }
    END { if (n != 1) print n " clock records" }' run1/*.jsonl

# Kernels are counted apart before and behind what separates them on their stream: a call, the end of its
# group, the beginning of an iteration.
. "$ROOT/tests/cli/tracer/common.bash"
for scenario in launches iterations; do
    echo "$scenario:"
    traced $scenario "$BUILD/tracer/group_calls" $scenario || exit 1
    check $scenario/*
    grep -o '"launches":[0-9]*' $scenario/*.jsonl
done
# A captured operation is said to be, also where its group has no room to time it.
traced captured "$BUILD/tracer/group_calls" captured || exit 1
check captured/*
ops captured/*.jsonl count timing graph | sort | uniq -c
# Work that ended within a group that is still open at exit has its time.
traced open "$BUILD/tracer/group_calls" beside_open || exit 1
check open/*
ops open/*.jsonl op timing

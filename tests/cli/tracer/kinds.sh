# Kinds that are left out: no records, and not in the coverage. The numbers of what is left go on.
. "$ROOT/tests/cli/tracer/common.bash"
for kind in NCCL CUBLAS DEPS; do
    env SPECTER_NO_$kind=1 SPECTER_OUTPUT=$kind LD_PRELOAD="$PRELOAD" "$FLIGHT" steps 2 0 || exit 1
    check $kind/*
    head -n 1 $kind/* | grep -o '"coverage":[^]]*]'
    sed -n 's/^{.*"\(type\|event\)":"\([a-z]*\)".*/\2/p' $kind/* | sort | uniq -c
done

# Copies and fills: each asked for once, by whichever interface; kinds by what the pointers are; from
# 64 KiB on with device times; the forms that wait say so by their host interval.
. "$ROOT/tests/cli/tracer/common.bash"
for mode in 0 1; do
    SPECTER_SYNC=$mode traced out$mode "$BUILD/tracer/work" copies || exit 1
    check out$mode/*
    [[ $mode == 1 ]] || ops out$mode/*.jsonl kind bytes stream timing
    ops out$mode/*.jsonl timing | sort | uniq -c
done
# The waiting copy of 256 KiB: its call lasts as long as the copy on the device.
sed -n 's/.*"kind":"d2h".*"duration_us":\([0-9.]*\),"bytes":262144,.*"host_us":\([0-9.]*\),"host_end_us":\([0-9.]*\),.*/\1 \2 \3/p' out0/*.jsonl |
    awk '{ print ($3 - $2 >= $1 - 1 ? "waited" : "returned at once") }'
sed -n 's/.*"syncs":[0-9]*,"copies":\({[^}]*}\).*/\1/p' out0/*.jsonl
sed -n 's/.*"coverage":\(\[[^]]*\]\).*/\1/p' out0/*.jsonl

# One cuBLAS operation in eight; all of NCCL; and the file says so.
. "$ROOT/tests/cli/tracer/common.bash"
SPECTER_SAMPLE=8 traced out "$FLIGHT" steps 40 1000 || exit 1
check out/*
head -n 1 out/* | grep -o '"sample":[0-9]*'
grep '"event":"sample"' out/*
grep -c '"type":"nccl"' out/*
grep -c '"type":"cublas"' out/*
tail -n 1 out/* | grep -o '"skipped":[^}]*}'
[[ $(grep -o '"op":"Sgemm".*"m":[0-9]' out/* | sort -u | wc -l) -gt 3 ]] || fail "hardly more than one shape"
"$SPECTER" analyze --full out 2>&1 >/dev/null | grep sampled

# SPECTER_NCCL_PLUGIN alone does what `specter capture --nccl-plugin` does: NCCL is told of us before the
# program begins, also in what a shell starts; a plugin that the user has named stays.
. "$ROOT/tests/cli/tracer/common.bash"
lines() { grep -hc '"type":"plugin"' $1/*; }
program=("$BUILD/tracer/plugin_calls" kinds)
export SPECTER_NCCL_PLUGIN=1
traced direct "${program[@]}" || exit 1
check direct/*
lines direct
grep -o '"coverage":.*"plugin"' direct/* | grep -o '"plugin"'
SPECTER_OUTPUT=shell LD_PRELOAD=$PRELOAD bash -c '"$@"; exit' sh "${program[@]}" || exit 1
lines shell
NCCL_PROFILER_PLUGIN= traced empty "${program[@]}" || exit 1
lines empty
NCCL_PROFILER_PLUGIN=/nowhere/other.so traced other "${program[@]}" || exit 1
lines other
SPECTER_NCCL_PLUGIN=no traced no "${program[@]}" || exit 1
lines no
for off in SPECTER_DISABLE=1 SPECTER_NCCL_PLUGIN=0; do
    env $off SPECTER_OUTPUT=off LD_PRELOAD="$PRELOAD" env | grep NCCL_PROFILER
done
SPECTER_OUTPUT=off LD_PRELOAD=$PRELOAD env | grep -c "^NCCL_PROFILER_PLUGIN=/.*/libspecter"

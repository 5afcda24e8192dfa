# The same with the headers of the CUDA toolkit, which tracer/abi/nvtx.h is compared with.
[[ -x $BUILD/tracer/nvtx_calls ]] || { echo "no nvtx3/nvToolsExt.h"; exit 77; }
. "$ROOT/tests/cli/tracer/common.bash"
export NVTX_INJECTION64_PATH=${PRELOAD##* }
traced nvtx "$BUILD/tracer/nvtx_calls" || exit 1
check nvtx/*
grep '"event":"mark"' nvtx/*.jsonl | sed -E 's/"time_us":-?[0-9.]+,//; s/"end_us":-?[0-9.]+/closed/'

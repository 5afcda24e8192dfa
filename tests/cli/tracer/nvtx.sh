# NVTX hands its marks and ranges to the library that NVTX_INJECTION64_PATH names; handles and levels
# are what a program may expect.
. "$ROOT/tests/cli/tracer/common.bash"
export NVTX_INJECTION64_PATH=${PRELOAD##* }
shorten() {
    grep '"event":"mark"' $1/*.jsonl | sed -E '
        s/"end_us":null/open/; s/"end_us":-?[0-9.]+/closed/; s/"time_us":-?[0-9.]+,//; s/\{"event":"mark",//'
}
traced nvtx "$BUILD/tracer/marks" nvtx || exit 1
check nvtx/*
shorten nvtx
echo "marker:"
SPECTER_MARKER=train_step traced marker "$BUILD/tracer/marks" marker || exit 1
check marker/*
shorten marker

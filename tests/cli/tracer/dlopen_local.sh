# Brought in by dlopen(RTLD_LOCAL), as Python does it, the same calls give the same records.
. "$ROOT/tests/cli/tracer/common.bash"
[[ -x $BUILD/emu/dlopen_local ]] || { echo "no dlopen_local"; exit 77; }
for preload in "" yes; do
    SPECTER_OUTPUT=local LD_PRELOAD=${preload:+$PRELOAD} "$BUILD/emu/dlopen_local" "$BUILD/emu/libemuext.so" "$PWD/id$preload" 3 || exit 1
done
check local/*
ops local/*.jsonl op count m n k timing

# Only the child's environment changes; what the user preloads stays, ours is there once and first.
export SPECTER_LIB=$LIBSPECTER ASAN_OPTIONS=verify_asan_link_order=0 # of a SAN build, libm first
show='echo "$LD_PRELOAD"; echo "$SPECTER_OUTPUT $SPECTER_SYNC,$SPECTER_RANKS"'
expect() {
    local line
    read -r line
    [[ $line == "$1" ]] || { echo "got '$line', want '$1'"; exit 1; }
}
"$SPECTER" capture -o a/b -- sh -c "$show" 2>/dev/null | {
    expect "$LIBSPECTER"
    expect "$PWD/a/b ,"
} || exit 1
LD_PRELOAD=libm.so.6 "$SPECTER" capture -o a/b --sync --ranks 0,8-15 sh -c "$show" 2>/dev/null | {
    expect "$LIBSPECTER:libm.so.6"
    expect "$PWD/a/b 1,0,8-15"
} || exit 1
LD_PRELOAD="libm.so.6 $LIBSPECTER" "$SPECTER" capture -o a/b sh -c "$show" 2>/dev/null | {
    expect "libm.so.6 $LIBSPECTER"
} || exit 1
"$SPECTER" capture -o a/b --marker 'a step' sh -c 'echo "$NVTX_INJECTION64_PATH"; echo "$SPECTER_MARKER"' 2>/dev/null | {
    expect "$LIBSPECTER"
    expect "a step"
} || exit 1
NVTX_INJECTION64_PATH=/other.so "$SPECTER" capture -o a/b sh -c 'echo "$NVTX_INJECTION64_PATH"' 2>/dev/null | {
    expect /other.so
} || exit 1
# Without marks NVTX need not know us, but where iterations are counted by them.
show='echo "$NVTX_INJECTION64_PATH"'
"$SPECTER" capture -o a/b --no-marks sh -c "$show" 2>/dev/null | expect "" || exit 1
SPECTER_NO_MARKS=yes "$SPECTER" capture -o a/b sh -c "$show" 2>/dev/null | expect "" || exit 1
"$SPECTER" capture -o a/b --no-marks --iterations 2:3 sh -c "$show" 2>/dev/null | expect "$LIBSPECTER" || exit 1
show='echo "$NCCL_PROFILER_PLUGIN"'
"$SPECTER" capture -o a/b sh -c "$show" 2>/dev/null | expect "" || exit 1
"$SPECTER" capture -o a/b --nccl-plugin sh -c "$show" 2>/dev/null | expect "$LIBSPECTER" || exit 1
SPECTER_NCCL_PLUGIN=1 "$SPECTER" capture -o a/b sh -c "$show" 2>/dev/null | expect "$LIBSPECTER" || exit 1
SPECTER_NCCL_PLUGIN=off "$SPECTER" capture -o a/b sh -c "$show" 2>/dev/null | expect "" || exit 1
NCCL_PROFILER_PLUGIN=$LIBSPECTER "$SPECTER" capture -o a/b --nccl-plugin sh -c "$show" 2>err | expect "$LIBSPECTER" || exit 1
! grep already err || exit 1
NCCL_PROFILER_PLUGIN=inspector "$SPECTER" capture -o a/b --nccl-plugin sh -c "$show" 2>err | expect inspector || exit 1
grep -q "NCCL_PROFILER_PLUGIN is 'inspector' already" err || { cat err; exit 1; }
show='echo "$LD_PRELOAD"; echo "$SPECTER_OUTPUT $SPECTER_SYNC,$SPECTER_RANKS"'
cd a
SPECTER_OUTPUT=../elsewhere "$SPECTER" capture sh -c "$show" 2>/dev/null | {
    expect "$LIBSPECTER"
    expect "${PWD%/a}/elsewhere ,"
} || exit 1
cd ..
"$SPECTER" capture true 2>/dev/null
stat -c '%a %n' a a/b elsewhere traces

# Lines for a job script: what they export is what capture sets, but for the run's name.
export SPECTER_LIB=$LIBSPECTER ASAN_OPTIONS=verify_asan_link_order=0
show() { sh -c 'export -p' | sed "s/^declare -x //; s/^export //" | grep -E '^(LD_PRELOAD|SPECTER_|NVTX_|NCCL_)' | grep -v SPECTER_LIB; }
options=(-o "it's here" --sync --ranks 0,8-15 --iterations 10:20 --marker 'a "b" $c' --max-size 1GiB --no-deps --sample 8)
SPECTER_DELAY=1.5 "$SPECTER" capture "${options[@]}" --print-env >lines || exit 1
[[ ! -e "it's here" ]] || echo "made a folder"
(
    eval "$(cat lines)"
    show >exported
)
SPECTER_DELAY=1.5 "$SPECTER" capture "${options[@]}" -- sh -c "$(declare -f show); show" 2>/dev/null | grep -v SPECTER_RUN >captured
diff captured exported
grep -c . exported
for option in "" --nccl-plugin --no-marks; do
    echo "$option" $("$SPECTER" capture $option --print-env | sed -nE "s|^export (NVTX.*\|NCCL.*)=$LIBSPECTER\$|\\1|p")
done
# Libraries that were preloaded before stay, behind.
(
    export LD_PRELOAD=libm.so.6
    eval "$("$SPECTER" capture --print-env)"
    [[ $LD_PRELOAD == "$LIBSPECTER:libm.so.6" ]] || echo "LD_PRELOAD is $LD_PRELOAD"
)
# So do tools that others have named.
(
    export NVTX_INJECTION64_PATH=theirs.so NCCL_PROFILER_PLUGIN=
    set -eu
    eval "$("$SPECTER" capture --print-env --nccl-plugin)"
    [[ $NVTX_INJECTION64_PATH == theirs.so ]] || echo "NVTX_INJECTION64_PATH is $NVTX_INJECTION64_PATH"
    [[ $NCCL_PROFILER_PLUGIN == "$LIBSPECTER" ]] || echo "NCCL_PROFILER_PLUGIN is $NCCL_PROFILER_PLUGIN"
)

# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Several ranks on one GPU, and NCCL's own profiler beside the preload.

SMALL='--deterministic --layers 2 --width 512 --tokens 128 --batch 4 --warmup 2 --steps 5'

# A job of several ranks, as one command: "${JOB[@]}" COUNT COMMAND...
JOB=("$BASH" "$0" --ranks)

# traced_ranks FOLDER COUNT WORKLOAD [OPTION...]: a recorded job of several ranks; what they print goes to
# $OUT/FOLDER.results, what analyze says of it to $OUT/FOLDER.analysis and the log.
traced_ranks() {
    local name=$1 count=$2
    shift 2
    traced "$name" "${JOB[@]}" "$count" "$PYTHON" "$HERE/workload.py" "$@" >"$OUT/$name.results" || return
    "$SPECTER" analyze "$OUT/traces/$name" --json "$OUT/$name.analysis"
}

# several_ranks FOLDER COUNT WORKLOAD [OPTION...]: recorded and not, with the same results; complete; matched.
several_ranks() {
    local name=$1 count=$2
    shift 2
    "${JOB[@]}" "$count" "$PYTHON" "$HERE/workload.py" "$@" >"$OUT/$name.plain" || return
    traced_ranks "$name" "$count" "$@" || return
    also ask same "$OUT/$name.plain" "$OUT/$name.results"
    also ask complete "$OUT/traces/$name"
    also ask ranks "$OUT/traces/$name" "$count" "$OUT/$name.analysis"
}

# shellcheck disable=SC2086 # options, word by word
{
    check_ranks2() { several_ranks ranks2 2 transformer $SMALL --reduce-loss; }
    check_ranks4() { several_ranks ranks4 4 transformer $SMALL --reduce-loss --accumulate 2; }
    check_fsdp() { several_ranks fsdp 2 fsdp $SMALL --accumulate 2; }
    check_pipeline() { several_ranks pipeline 2 pipeline $SMALL; }

    # A rank that comes 20 ms late to each step is named, and its lateness is all the waiting there is. Kept are five
    # steps: neither the start of the job, nor the first ten, in which DistributedDataParallel waits for its
    # own events. It sleeps: stand-ins for a GPU must keep the machine's own time.
    check_late_rank() {
        export EMU_CLOCK=real
        CAPTURE='--iterations 2:6' traced_ranks late 2 transformer $SMALL --warmup 12 --steps 7 --reduce-loss --marks \
            --slow-rank 1 --slow-us 20000 &&
            ask late "$OUT/late.analysis" 1 20000 5
    }

    # A rank that leaves a collective out is named while the job hangs.
    check_hang() {
        export EMU_CLOCK=real
        rm -rf "$OUT/traces/hang"
        "$PYTHON" "$HERE/hang.py" "$SPECTER" "$OUT/traces/hang" 1 14 4 30 -- \
            "$SPECTER" capture -o "$OUT/traces/hang" -- "${JOB[@]}" 2 "$PYTHON" "$HERE/workload.py" \
            transformer $SMALL --warmup 12 --reduce-loss --skip-rank 1 --skip-step 14
    }

    check_plugin() {
        traced_ranks noplugin 2 transformer $SMALL --reduce-loss &&
            CAPTURE=--nccl-plugin traced_ranks plugin 2 transformer $SMALL --reduce-loss &&
            ask plugin "$OUT/traces/plugin" "$OUT/traces/noplugin"
    }
}

# nccl_library: the library that PyTorch brings, or the loader's.
nccl_library() {
    "$PYTHON" - <<'PY'
import glob, os, sysconfig
found = glob.glob(os.path.join(sysconfig.get_paths()["purelib"], "nvidia", "nccl", "lib", "libnccl.so.2"))
print(found[0] if found else "libnccl.so.2")
PY
}

# NCCL by ctypes, as vLLM uses it: the library by its path, whose symbols only its handle finds.
check_nccl_by_handle() {
    local count library
    also situation nccl
    library=$(nccl_library)
    note "Library: ${library##*/site-packages/}"
    for count in 1 2; do
        export FIGURES_OF="$count rank(s)"
        rm -f "$OUT/nccl$count".*
        traced "nccl$count" "${JOB[@]}" "$count" "$PYTHON" "$HERE/pynccl.py" "$library" \
            "$OUT/nccl$count.calls" "$OUT/nccl$count.id" || return
        also ask calls "$OUT/traces/nccl$count" "$OUT/nccl$count.calls"
        also ask complete "$OUT/traces/nccl$count"
    done
}

# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Training steps that are recorded: nothing changes, nothing is lost, times are true.

check_same_results() {
    local small='--deterministic --layers 2 --width 512 --tokens 128 --warmup 5 --steps 5'
    # shellcheck disable=SC2086 # options, word by word
    {
        workload transformer $small >"$OUT/same.plain" &&
            traced same "$PYTHON" "$HERE/workload.py" transformer $small >"$OUT/same.results" || return
    }
    ask same "$OUT/same.plain" "$OUT/same.results"
}

# Ten steps, of two blocks with four layers each and a head: a product forward and two backward.
check_complete() { ask complete "$OUT/traces/same" $((10 * 3 * (2 * 4 + 1))); }

# Device times against CUPTI's, of the same steps; large enough that every class of sizes has products.
check_agreement() {
    traced agreement "$PYTHON" "$HERE/workload.py" transformer --layers 4 --width 2048 --tokens 1024 --steps 5 \
        --profile "$OUT/agreement.json" &&
        "$PYTHON" "$HERE/agreement.py" "$OUT/traces/agreement" "$OUT/agreement.json"
}

# A graph's capture still works, its launches are timed, its result is the untraced one. The step has 128
# layers: a product forward and two backward, but one for the first.
check_graph() {
    workload graph --deterministic --steps 20 >"$OUT/graph.plain" || return
    traced graph "$PYTHON" "$HERE/workload.py" graph --deterministic --steps 20 >"$OUT/graph.results" || return
    also ask same "$OUT/graph.plain" "$OUT/graph.results"
    also ask complete "$OUT/traces/graph"
    also ask graph "$OUT/traces/graph" 32 $((3 * 128 - 1))
}

# can_build: Triton builds what launches its kernels by a C compiler, over Python's headers.
can_build() {
    local compiler headers
    compiler=$(command -v "${CC:-gcc}" clang | head -n 1)
    headers=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
    [ -n "$compiler" ] || { echo "Triton needs a C compiler, and there is none" && return 1; }
    [ -e "$headers/Python.h" ] || { echo "Triton needs Python.h, and $headers has none" && return 1; }
}

# The share of a compiled step's device time that each kind of record stands for. Nothing is found compiled, whatever ran
# here before.
check_compile() {
    can_build || return 77
    TORCHINDUCTOR_CACHE_DIR=$(mktemp -d) && export TORCHINDUCTOR_CACHE_DIR TRITON_CACHE_DIR=$TORCHINDUCTOR_CACHE_DIR/triton
    # shellcheck disable=SC2064 # this folder
    trap "rm -rf '$TORCHINDUCTOR_CACHE_DIR'" EXIT
    # On the stand-ins autograd's thread has a virtual clock of its own, so that host times would not compare.
    [ -z "${SPECTER_REHEARSAL:-}" ] || export EMU_CLOCK=real
    traced compile "$PYTHON" "$HERE/workload.py" compile --steps 5 --marks --profile "$OUT/compile.json" &&
        "$PYTHON" "$HERE/checks.py" complete "$OUT/traces/compile" &&
        "$PYTHON" "$HERE/checks.py" seen "$OUT/traces/compile" "$OUT/compile.json"
}

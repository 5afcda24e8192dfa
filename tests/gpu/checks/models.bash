# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The models against this GPU.

# GEMMs of all shapes and types, against the model. The table goes to docs/measurements with the report
# (run.sh --publish), where no fit looks.
check_gemm() {
    local table=$OUT/gemm.csv status
    LD_LIBRARY_PATH=$(wheel_libraries):${LD_LIBRARY_PATH:-} \
        "$SPECTER" bench gemm --budget "${GEMM_SECONDS:-120}" --source specter_gpu_suite -o "$table"
    status=$?
    [ -s "$table" ] || return 77 # no GPU, or no cuBLAS: it has said which
    [ $status = 0 ] || return $status
    "$SPECTER" validate "$table" --rows "$OUT/gemm_rows.csv" --json "$OUT/gemm_scores.json" || return
    "$PYTHON" "$HERE/models.py" gemm "$table" "$OUT/gemm_scores.json" "$OUT/gemm_rows.csv"
}

# recorded_step NAME WORKLOAD...: a capture with step marks, and beside it the state that the GPU was in. Of a step
# that waits for its host, capture's default records a part of the products; here it is to be all of them.
recorded_step() {
    local name=$1
    shift
    rm -rf "$OUT/traces/$name"
    "$SPECTER" bench state --every 0.02 -o "$OUT/state_$name.csv" -- \
        "$SPECTER" capture --overhead 0 -o "$OUT/traces/$name" -- "$PYTHON" "$HERE/workload.py" "$@" --marks
}

# replayed NAME FILE OPTION...: at its own size.
replayed() { "$SPECTER" replay "$OUT/traces/$1" --scale 1 --json "$OUT/$2.json" "${@:3}"; }

# A captured step, replayed on its own GPU, takes its own time: one that keeps the GPU busy, one that waits for its
# host, one that is a CUDA graph.
check_identity() {
    local workload status=0
    for workload in transformer launch_bound graph; do
        recorded_step "own_$workload" "$workload" --steps 40 &&
            replayed "own_$workload" "own_$workload" &&
            "$PYTHON" "$HERE/checks.py" identity "$workload" "$OUT/own_$workload.json" 3 || status=1
    done
    return $status
}

# The same transformer step by the models alone: at the clocks that the profile stands for, and at those found.
check_as_found() {
    local trace=own_transformer found=$OUT/found.json
    if [ ! -e "$OUT/traces/$trace" ] || [ ! -e "$OUT/state_$trace.csv" ]; then
        recorded_step "$trace" transformer --steps 40 || return
    fi
    replayed "$trace" own >/dev/null &&
        "$PYTHON" "$HERE/models.py" found "$OUT/state_$trace.csv" "$OUT/own.json" "$SPECTER" "$found" &&
        replayed "$trace" nominal --no-calibrate &&
        replayed "$trace" as_found --no-calibrate --from-gpu "$found" --gpu "$found" &&
        "$PYTHON" "$HERE/models.py" as_found "$OUT/own.json" "$OUT/nominal.json" "$OUT/as_found.json"
}

# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What recording costs.

# Costs of the driver's calls that recording an operation makes.
check_cost() {
    cc -O2 -o "$OUT/cost" "$HERE/cost.c" -ldl && "$OUT/cost"
}

check_overhead_transformer() {
    "$PYTHON" "$HERE/overhead.py" "$SPECTER" transformer --limit 1 --seconds 150 \
        --way profiler --way nsys --way nccl-plugin
}

check_overhead_launch_bound() {
    "$PYTHON" "$HERE/overhead.py" "$SPECTER" launch_bound --limit 3 --seconds 150 \
        --way profiler --way no-launches --way no-deps -- --steps 200 --warmup 50
}

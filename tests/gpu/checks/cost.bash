# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What recording costs.

# Costs of the driver's calls that recording an operation makes.
check_cost() {
    cc -O2 -o "$OUT/cost" "$HERE/cost.c" -ldl && "$OUT/cost"
}

check_overhead_transformer() {
    "$PYTHON" "$HERE/overhead.py" "$SPECTER" transformer --limit 1
}

check_overhead_launch_bound() {
    "$PYTHON" "$HERE/overhead.py" "$SPECTER" launch_bound --limit 3 -- --steps 200 --warmup 50
}

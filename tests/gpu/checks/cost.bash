# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The cost of recording.

# wheel_libraries: where Python's packages keep CUDA's libraries, for programs that are not Python.
wheel_libraries() {
    "$PYTHON" -c 'import glob, sys; print(*(f for p in sys.path for f in glob.glob(p + "/nvidia/*/lib")), sep=":")'
}

# hook_cost calls|harvester
hook_cost() {
    LD_LIBRARY_PATH=$(wheel_libraries):${LD_LIBRARY_PATH:-} \
        "$PYTHON" "$HERE/hook_cost.py" "$1" "$SPECTER" "$BUILD/tests/gpu/hook_cost"
}

check_hook() { hook_cost calls; }
check_harvester() { hook_cost harvester; }

check_overhead_transformer() {
    "$PYTHON" "$HERE/overhead.py" "$SPECTER" transformer --limit 1 --seconds "$(seconds 180)" --way profiler --way nsys
}

check_overhead_launch_bound() {
    "$PYTHON" "$HERE/overhead.py" "$SPECTER" launch_bound --limit 3 --seconds "$(seconds 150)" \
        --way profiler --way no-launches --way no-deps -- --steps 200 --warmup 50
}

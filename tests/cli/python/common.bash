# SPDX-License-Identifier: MIT
# Sourced by the tests of the wheel and its module.
shopt -s nullglob
wheels=("$BUILD"/dist/specter-*-py3-none-linux_*.whl)
tools=$ROOT/build/deps/python/bin/python # with what scripts/setup.sh --ci gets from PyPI

# python_of 3.8: a Python of that version, by name or among pyenv's.
python_of() {
    local shims versions
    if "python$1" -c '' 2>/dev/null; then
        command -v "python$1"
        return
    fi
    while IFS= read -r -d : shims; do
        [[ $shims == */shims ]] || continue
        versions=("${shims%/shims}"/versions/"$1".*/bin/python)
        [[ ${#versions[@]} == 0 ]] || { echo "${versions[0]}" && return; }
    done <<<"$PATH:"
    return 1
}

# make_venv VERSION: ./venv of that Python; a skip where there is none.
make_venv() {
    local python
    [[ ${#wheels[@]} == 1 ]] || { echo "${#wheels[@]} wheels in $BUILD/dist: no python3 when that was built"; exit 77; }
    python=$(python_of "$1") || { echo "no Python $1"; exit 77; }
    "$python" -m venv venv >venv.log 2>&1 || { echo "$python has no venv with pip"; exit 77; }
}

install_wheel() { venv/bin/python -m pip install -q --no-index --no-deps "${wheels[0]}"; }

# check_module: the tests of module.py with a recording of the example, in ./venv
check_module() {
    make_venv "$1"
    install_wheel
    LD_LIBRARY_PATH=$BUILD/emu/lib PYTHONDONTWRITEBYTECODE=1 venv/bin/python "$ROOT/tests/cli/python/module.py" >log 2>&1 ||
        cat log
}

# with_tools MODULE...: the tools from PyPI; a skip that names what is missing.
with_tools() {
    local module
    for module in "$@"; do
        "$tools" -c "import $module" 2>/dev/null || { echo "no $module: scripts/setup.sh --ci gets it"; exit 77; }
    done
}

# check_frames LIBRARY: with the module as it lies in the repository
check_frames() {
    with_tools "$1"
    SPECTER_PROGRAM=$SPECTER PYTHONPATH=$ROOT/packaging/python PYTHONDONTWRITEBYTECODE=1 \
        "$tools" "$ROOT/tests/cli/python/frames.py" "$1"
}

# SPDX-License-Identifier: MIT
#
# Runs one function of a case: bash case.bash NAME prepare|program|normalize (see run.sh).

# need COMMAND...: skips the case where one is missing.
need() {
    local command
    for command in "$@"; do
        command -v "$command" >/dev/null || missing "no $command"
    done
}

missing() {
    echo "$*"
    exit 77
}

compile() {
    need "$CC"
    "$CC" -g -O1 "$@"
}

# need_python MODULE...: the Python that has these modules is then $PYTHON in prepare, and `python` in
# the program. It is PyTorch's environment (SPECTER_TORCH, or the one that get.sh and rehearse-gpu
# make), that of get.sh, or the system's.
need_python() {
    local python module
    for python in "${SPECTER_TORCH:-$ROOT/build/torch}/bin/python" "$PROGRAMS/python/bin/python" /usr/bin/python3; do
        [[ -x $python ]] || continue
        "$python" -c 'import importlib.util, sys
sys.exit(any(importlib.util.find_spec(name) is None for name in sys.argv[1:]))' "$@" || continue
        echo "$python" >"$MADE/python"
        PYTHON=$python
        return
    done
    missing "no Python with $*"
}

python() {
    "$(<"$MADE/python")" "$@"
}

# A program that get.sh has unpacked needs the libraries that came with it.
libraries_of() {
    local root=$PROGRAMS/apt/root
    [[ -z $1 || $(command -v "$1") != "$root"/* ]] ||
        export LD_LIBRARY_PATH=$(printf '%s:' "$root"/usr/lib/*-linux-gnu "$root"/lib/*-linux-gnu)
}

# Filters that several cases share.
without_addresses() { sed -E 's/0x[0-9a-f]+/ADDRESS/g'; }
normalize() { cat; }

# Of processes: who ended how, and for all processes of a name what kinds of descriptors they had open, for
# programs where their order and number are chance.
descriptor_kinds() {
    awk '{
        colon = index($0, ":")
        print substr($0, 1, colon - 1)
        n = split(substr($0, colon + 1), word, " ")
        for (i = 1; i <= n; i++)
            if (word[i] !~ /^[0-9]+$/ && word[i] != "(deleted)")
                kinds[$2 ": " word[i]]
    }
    END { for (kind in kinds) print kind }'
}

# shellcheck disable=SC1090
. "$ROOT/tests/programs/cases/$1.bash"
libraries_of "${COMMAND:-}"
"${@:2}"

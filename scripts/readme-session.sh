#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Renews the terminal session at the top of README.md, and the paragraph behind it:
#
#   BUILD=build scripts/readme-session.sh [README.md [TRACES]]
#
# It is of a real recording where TRACES (default: examples/traces) holds one named SESSION (gpt_1gpu), else what
# `make demo` prints.
set -euo pipefail
export LC_ALL=C.UTF-8 # bars as a terminal of today shows them
unset COLUMNS

ROOT=$(cd "$(dirname "$0")/.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
README=$(realpath "${1:-$ROOT/README.md}")
TRACES=$(realpath -m "${2:-$ROOT/examples/traces}")
SESSION=${SESSION:-gpt_1gpu}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

# typed COMMAND...: as one types it, then what it prints.
typed() {
    echo "\$ $*"
    "$@" 2>/dev/null
    echo
}

# Prints the command that made the recording, and what it printed, from the README of the recording.
recorded() {
    sed -n 's/^    specter capture/$ specter capture/p' "$TRACES/$SESSION/README.md" | sed 's/ transformer / transformer \\\n      /'
    # shellcheck disable=SC2016 # of the text
    sed -n 's/^which printed `\(.*\)`.*/\1/p' "$TRACES/$SESSION/README.md"
    echo
}

of_recording() {
    mkdir -p "$WORK/examples"
    ln -s "$TRACES" "$WORK/examples/traces"
    cd "$WORK"
    PATH=$BUILD:$PATH
    recorded
    typed specter analyze "examples/traces/$SESSION"
    typed specter replay "examples/traces/$SESSION" --gpu a100_sxm --network dgx_a100_200g --scale 1,8,64
}

of_demo() {
    BUILD=$BUILD "$ROOT/scripts/demo.sh" 2>&1 | awk '
        /^\$ / { on = !/--gpu h100|--html/ }
        /^The traces are|^specter: wrote/ { on = 0 }
        on && NF == 0 { blank = 1 }
        on && NF { if (blank) print ""; print; blank = 0 }'
}

# Prints the paragraph behind the session.
said() {
    local gpu
    if [[ $1 == of_demo ]]; then
        cat <<'TEXT'
That is `make demo`: a real program under the real tracer, on libraries that stand in for CUDA, cuBLAS and NCCL, so the
figures are not a GPU's.
TEXT
        return
    fi
    gpu=$(sed -n 's/^- GPU: //p' "$TRACES/$SESSION/README.md" | head -n 1)
    cat <<TEXT
The recording is real, of one $gpu, and lies in [examples/traces/$SESSION](examples/traces/$SESSION):
what follows the capture runs anywhere. \`make demo\` shows all three on libraries that stand in for CUDA,
cuBLAS and NCCL. In front of a real job it reads \`specter capture -- torchrun train.py\`.
TEXT
}

main() {
    local of=of_demo
    [[ ! -e $TRACES/$SESSION/README.md ]] || of=of_recording
    $of >"$WORK/session"
    [[ $(wc -l <"$WORK/session") -gt 20 ]] || { echo "readme-session.sh: hardly a session" >&2; exit 1; }
    said $of >"$WORK/said"
    awk -v session="$WORK/session" -v said="$WORK/said" '
        function insert(file, text) { while ((getline text <file) > 0) print text }
        state == 0 && /^```console/ { print; insert(session); state = 1 }
        state == 1 && /^```$/ { print; state = 2; next }
        state == 2 && NF { insert(said); state = 3 }
        state == 3 && !NF { state = 4 }
        state != 1 && state != 3' "$README" >"$WORK/README.md"
    cmp -s "$README" "$WORK/README.md" || cat "$WORK/README.md" >"$README"
}

main

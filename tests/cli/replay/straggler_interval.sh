# SPDX-License-Identifier: MIT
# A slowed rank comes late to collectives over two nodes, and the others have done a part of them by then: the interval
# holds the step of a recording with such a GPU. Within a node nothing is done before; there the step is predicted to
# half a per cent, kernels that no longer run beside communication included.
[[ -x $BUILD/examples/train ]] || { echo "no examples built: make emu"; exit 77; }
record() { # DIRECTORY RANKS LINE
    { cat "$ROOT/tests/emu/fabric/h100.conf"; echo "$3"; } >"$1.conf"
    EMU_FABRIC=$1.conf LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o "$1" -- \
        "$ROOT/examples/launch.sh" -n "$2" "$BUILD/examples/train" --iters 6 "${@:4}" >/dev/null 2>log || { cat log && return 1; }
}
slowed() { "$SPECTER" replay "$1" --scale 1 --straggler rank=2,slow=1.25 "${@:2}"; }
step() { "$SPECTER" analyze "$1" --json - | sed -n 's/^[[:space:]]*"us":[[:space:]]*//p' | tr -d , | head -n 1; }
record base 16 'seed = 1'
record slow 16 'slow_gpu = 2 0.8'
slowed base --json - | tr -d ' \n\t' | grep -o '"interval80":\[[^]]*' | head -n 1 | sed 's,.*\[,,' |
    awk -F, -v t="$(step slow)" '{ print (t < $1 ? "shorter than the interval" : t > $2 ? "longer than the interval" : "within") }'
slowed base --full | tr -s '\n ' ' ' | grep -c 'collectives with a straggler: other ranks may finish a part before it arrives'
slowed base --json - | grep -c '"late_members"'
rm -r base slow
record base 16 'seed = 1' --tp 8
record slow 16 'slow_gpu = 2 0.8' --tp 8
slowed base --full | grep -c 'collectives with a straggler'
slowed base --json - | tr -d ' \n\t' | sed 's/.*"scales"//' | grep -o '"iteration_us":[0-9.]*' | head -n 1 | cut -d: -f2 |
    awk -v t="$(step slow)" '{ print ((t / $1 - 1) ^ 2 < 0.005 ^ 2 ? "within half a per cent" : t " us, predicted " $1) }'

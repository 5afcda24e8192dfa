# SPDX-License-Identifier: MIT
# A pipeline without replicas gets some: they are numbered inside its stages, whose messages then leave the node,
# as in a capture of that job. Within 6 %; numbered outside, the messages stay in the node.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }
work=$PWD
. "$ROOT/scripts/recordings.bash"
for ranks in 2 16; do
    launch h100 $ranks "$SPECTER" capture -o $ranks -- "$ROOT/examples/launch.sh" -n $ranks "$BUILD/examples/train" \
        --iters 4 --pp 2 --layers 2 --tokens 8192 --hidden 1024 >log 2>&1 || { cat log; exit 1; }
done
replay 16 own --scale 1
truth=$(get own source.recorded.iteration_us)
# The other order is typed as it is printed.
outside=$("$SPECTER" replay 2 --full --scale 8 | tr -s '\n ' ' ' | grep -o -e '--parallel [^ ]* puts them outside')
for grid in '' "${outside% puts*}"; do
    replay 2 grown --scale 8 $grid
    get grown scales.0.iteration_us | awk -v truth="$truth" -v grid="${grid:-as found}" '
        { off = $1 / truth - 1; print grid ":", (off * off < 0.0036 ? "within 6 %" : "off") }'
done
"$SPECTER" replay 2 --full --scale 8 | grep -A 1 'numbered inside'

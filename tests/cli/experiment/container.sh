# SPDX-License-Identifier: MIT
# The command line of a container has specter and its tracer mounted, this folder under its own name, and an experiment
# in it runs to its end. The engine here is a script that runs what a container would, with what was mounted.
. "$ROOT"/tests/cli/scaling/common.bash
export SPECTER SPECTER_LIB=$BUILD/libspecter.so
tool=$ROOT/examples/container.sh
tidy() { sed -e "s|--user $(id -u):$(id -g) |--user USER |; s|$PWD|HERE|g; s|$(realpath "$SPECTER")|SPECTER|g; s|$(realpath "$BUILD")|BUILD|g"; }
for engine in docker podman apptainer; do "$tool" --print $engine image:1 experiment "a b.json" -- train | tidy; done
"$tool" lxc image:1 experiment x 2>&1
echo "status $?"
SPECTER=/missing "$tool" docker image:1 experiment x 2>&1
echo "status $?"
mkdir bin
cat >bin/docker <<'END'
#!/usr/bin/env bash
# The options of `docker run` up to the image; mounted files by their names here.
while [[ $1 != image:1 ]]; do
    case $1 in
    -v) [[ $2 != *:/opt/specter/specter:ro ]] || specter=${2%%:*}; [[ $2 != *:/opt/specter/libspecter.so:ro ]] || library=${2%%:*}; shift ;;
    -w) cd "$2" || exit 9; shift ;;
    esac
    shift
done
[[ $2 == /opt/specter/specter && -n $library ]] || exit 9
export SPECTER_LIB=$library
exec "$specter" "${@:3}"
END
chmod +x bin/docker
export PATH=$PWD/bin:$PATH EMU_FABRIC=$ROOT/tests/emu/fabric/h100.conf LD_LIBRARY_PATH=$BUILD/emu/lib
echo '{"name": "two", "settings": [{"label": "base"}, {"label": "ring", "env": {"NCCL_ALGO": "Ring"}}]}' >two.json
"$tool" docker image:1 experiment two.json --repeat 1 -o out -- "$ROOT"/examples/launch.sh -n 2 "$BUILD"/examples/train --iters 3 >/dev/null 2>&1
echo "status $?"
ls out out/ring/run1 | grep -v log

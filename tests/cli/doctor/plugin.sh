# The holder of NCCL's one place for a profiler: the environment, a configuration file, a library that an image brings.
# Doctor says so, and capture when --nccl-plugin takes it.
. "$ROOT/tests/cli/doctor/common.bash"
mkdir lib net plain home
"$cc" -shared -fPIC -o lib/libnccl-profiler.so -xc - <<<'int ncclProfiler_v4 = 1;' &&
    cp lib/libnccl-profiler.so net/libnccl-net.so &&
    "$cc" -shared -fPIC -o plain/libnccl-net.so -xc - <<<'int ncclNet_v8 = 1;' || exit 1
export HOME=$PWD/home
both() {
    doctor plugin | grep -v -e status -e 'kernel events'
    "$SPECTER" capture -o traces --nccl-plugin -- sh -c 'echo "${NCCL_PROFILER_PLUGIN##*/}"' 2>&1 |
        sed "/^specter: no NCCL/,\$d; s|$PWD|PWD|g"
}
NCCL_PROFILER_PLUGIN=other.so both
NCCL_PROFILER_PLUGIN=$LIBSPECTER doctor plugin | grep -v -e status -e 'kernel events'
LD_LIBRARY_PATH=$PWD/lib both
LD_LIBRARY_PATH=$PWD/net both
LD_LIBRARY_PATH=$PWD/plain both
printf 'NCCL_DEBUG=INFO\nNCCL_PROFILER_PLUGIN=telemetry\n' >home/.nccl.conf
both
LD_LIBRARY_PATH=$PWD/lib "$SPECTER" capture -o traces -- sh -c 'echo "${NCCL_PROFILER_PLUGIN-unset}"' 2>&1 | head -n 1
doctor plugin | grep -c 'kernel events'

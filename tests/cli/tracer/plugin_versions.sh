# NCCL takes the newest version of the interface that it knows; the oldest know no channels, and times
# come with version 4.
. "$ROOT/tests/cli/tracer/common.bash"
export NCCL_PROFILER_PLUGIN=${PRELOAD##* }
for version in 1 2 3 4 5 6; do
    EMU_PROFILER=$version traced v$version "$BUILD/tracer/plugin_calls" kinds || exit 1
    check v$version/*
    grep -h '"type":"plugin"' v$version/*.jsonl |
        sed -E 's/"comm":"[0-9a-f]*",//; s/"kernel_us":null/untimed/; s/"kernel_us":[0-9.]+/timed/' | LC_ALL=C sort >v$version.txt
    grep -h '"nodes":1}' v$version/*.jsonl | sort -u | wc -l # known by its first operation at the latest
done
cat v1.txt
for version in 2 3; do
    diff v1.txt v$version.txt || echo "version $version"
done
cat v4.txt
for version in 5 6; do
    diff v4.txt v$version.txt || echo "version $version"
done

# The library exports the functions of the hook table and the names of exports.def and nothing else,
# and needs libc and nothing else. Hooks of libraries without versions are in version SPECTER, which is
# not the default; all else has no version (tracer/hooks.h).
LC_ALL=C sort "$BUILD/tracer/exports.txt" >table
awk '{ print $2 }' "$BUILD/tracer/hooks.txt" | sort | comm -23 - table
nm -D --defined-only "$LIBSPECTER" | awk '$3 != "SPECTER" { print $3 }' >names
sed 's/@SPECTER$//' names | LC_ALL=C sort | diff table - || exit 1
grep '@' names | sed 's/@SPECTER$//' | LC_ALL=C sort >versioned
awk '$1 ~ /^(NCCL|RCCL|CUDA)$/ { print $2 }' "$BUILD/tracer/hooks.txt" | LC_ALL=C sort -u |
    diff - versioned || exit 1
grep -qx dlvsym table && [[ $(wc -l <table) -gt 30 ]] || { echo "the table was not read"; exit 1; }
readelf -d "$LIBSPECTER" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v -x -e libc.so.6 -e libdl.so.2 -e libpthread.so.0
# The first version behind the library's own name: the loader takes it for references without one.
readelf -V "$LIBSPECTER" | sed -n 's/.*Index: \([0-9]*\) .*Name: /\1 /p'

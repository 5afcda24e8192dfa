# The library exports the functions of the hook table and the names of exports.def and nothing else,
# and needs libc and nothing else.
LC_ALL=C sort "$BUILD/tracer/exports.txt" >table
awk '{ print $2 }' "$BUILD/tracer/hooks.txt" | sort | comm -23 - table
nm -D --defined-only "$LIBSPECTER" | awk '{ print $3 }' | sort | diff table - || exit 1
grep -qx dlvsym table && [[ $(wc -l <table) -gt 30 ]] || { echo "the table was not read"; exit 1; }
readelf -d "$LIBSPECTER" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v -x -e libc.so.6 -e libdl.so.2 -e libpthread.so.0
readelf -V "$LIBSPECTER" | grep -A 3 'Version definition section' && { echo "has a version node"; exit 1; }
exit 0

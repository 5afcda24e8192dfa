# The library exports the functions of the hook table, those for marks and tools, and nothing else; it
# needs libc and nothing else.
api="specter_mark specter_iteration specter_range_push specter_range_pop InitializeInjectionNvtx2 $(printf 'ncclProfiler_v%d ' 1 2 3 4 5 6)"
{ awk '{ print $2 }' "$BUILD/tracer/hooks.txt" && printf '%s\n' $api; } | sort >table
nm -D --defined-only "$LIBSPECTER" | awk '{ print $3 }' | sort | diff table - || exit 1
[[ $(wc -l <table) -gt 30 ]] || { echo "the table was not read"; exit 1; }
readelf -d "$LIBSPECTER" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v -x -e libc.so.6 -e libdl.so.2 -e libpthread.so.0
readelf -V "$LIBSPECTER" | grep -A 3 'Version definition section' && { echo "has a version node"; exit 1; }
exit 0

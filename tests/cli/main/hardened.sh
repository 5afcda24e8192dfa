# The program and its libraries are hardened: position-independent, read-only after relocation, symbols bound at start,
# no executable stack, no text relocations; the program with checked copies and, on x86-64, with markers for
# control-flow protection.
type readelf >/dev/null 2>&1 || { echo "no readelf"; exit 77; }
LC_ALL=C
! grep -q -e '-fsanitize=[a-z]' "$BUILD/flags" || { echo "a sanitized build, whose runtime replaces the checked copies"; exit 77; }
for file in "$SPECTER" "$LIBSPECTER" "$BUILD"/specter_bench_*.so; do
    name=${file##*/}
    [[ $name != *gloo* && $name != *mpi* ]] || continue # linked by others' compilers
    headers=$(readelf -hlW "$file") dynamic=$(readelf -dW "$file")
    grep -q 'Type: *DYN' <<<"$headers" || echo "$name is not position-independent"
    grep -q 'GNU_RELRO' <<<"$headers" || echo "$name: no RELRO"
    grep 'GNU_STACK' <<<"$headers" | grep -q 'RWE' && echo "$name: executable stack"
    grep -q 'BIND_NOW\|Flags:.*NOW' <<<"$dynamic" || echo "$name: not bound at start"
    grep -q 'TEXTREL' <<<"$dynamic" && echo "$name: text relocations"
    # A module without a function that has an array needs none.
    [[ $name == specter_bench_* ]] || readelf --dyn-syms -W "$file" | grep -q '__stack_chk_fail' || echo "$name: no stack protector"
done
readelf --dyn-syms -W "$SPECTER" | grep -q '__[a-z]*_chk@' || echo "specter: no checked copies"
if [[ $(uname -m) == x86_64 ]] && grep -q -e '-fcf-protection' "$BUILD/flags"; then
    # Functions are marked. Whether the processor checks that is up to the C library's start files, too.
    [[ $(objdump -d --no-show-raw-insn "$SPECTER" | grep -c endbr64) -gt 500 ]] || echo "specter: no control-flow protection"
fi
exit 0

#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/emu/abi/cupti.h says what the real headers say: every enumerator and number, the size of every
# type, the offset of every field, and every prototype; and the numbers of functions are the real
# ones, with none missing of those that the stand-ins export.
set -eu

for dir in ${CUDA_INCLUDE:-} "${CUDA_HOME:-/usr/local/cuda}/include" /usr/include; do
    [ -f "$dir/cupti.h" ] && grep -q 'CUPTI_API_VERSION 1300' "$dir/cupti_version.h" && real=$dir && break
done
[ -n "${real:-}" ] || { echo "no headers of CUPTI 13 found"; exit 77; }
emu=$ROOT/tests/emu
abi=$emu/abi/cupti.h
cc=${CC:-cc}

{
    cat <<EOF
#include <cupti.h>
#include <stddef.h>
#include <stdio.h>
#define VALUE(v) printf("%s = %lld\n", #v, (long long)(v))
#define SIZE(t) printf("sizeof %s = %zu\n", #t, sizeof(t))
#define FIELD(t, f) printf("%s.%s at %zu, %zu bytes\n", #t, #f, offsetof(t, f), sizeof(((t *)0)->f))
int main(void)
{
EOF
    sed -nE 's/^    ([A-Z][A-Za-z_0-9]+) = [0-9]+,$/VALUE(\1);/p' "$abi"
    sed -nE 's/^#define ([A-Za-z_0-9]+) [0-9].*$/VALUE(\1);/p' "$abi"
    sed -nE 's/^\} ([A-Za-z_0-9]+);$/SIZE(\1);/p' "$abi"
    awk '/^typedef / { n = 0 }
         /^    [a-zA-Z].*;$/ { f = $NF; gsub(/[*;]|\[.*/, "", f); fields[++n] = f }
         /^\} CUpti_[A-Za-z0-9]+;/ {
             t = $2
             sub(/;/, "", t)
             for (i = 1; i <= n; i++)
                 if (fields[i] !~ /^(pad|padding|reserved)[0-9]*$/)
                     print "FIELD(" t ", " fields[i] ");"
         }' "$abi"
    echo 'return 0; }'
} >values.c

{
    printf '#include <cupti.h>\n'
    awk '/^CUptiResult cupti/ { on = 1 } on { print } /;$/ { on = 0 }' "$abi"
} >prototypes.c

{
    printf '#include <cupti.h>\n'
    printf '#define RUNTIME(_name, _version, _cbid) \\\n'
    printf '  _Static_assert(CUPTI_RUNTIME_TRACE_CBID_##_name##_v##_version == _cbid, #_name);\n'
    printf '#define DRIVER(_name, _cbid) \\\n'
    printf '  _Static_assert(CUPTI_DRIVER_TRACE_CBID_##_name == _cbid, #_name);\n'
    printf '#include "%s/cupti.def"\n' "$emu"
} >numbers.c

$cc -I"$emu/abi" -isystem "$real" -o values-abi values.c
$cc -isystem "$real" -o values-real values.c
./values-abi >abi.txt
./values-real >real.txt
diff abi.txt real.txt
$cc -isystem "$real" -fsyntax-only prototypes.c
$cc -isystem "$real" -fsyntax-only numbers.c

sed -nE 's/^(RUNTIME|DRIVER)\(([^,]*),.*/\2/p' "$emu/cupti.def" >named
LC_ALL=C sort -c named
{
    sed -nE 's/.*CUPTI_RUNTIME_TRACE_CBID_(.*)_v[0-9]+ .*/\1/p' "$real/cupti_runtime_cbid.h"
    sed -nE 's/.*CUPTI_DRIVER_TRACE_CBID_([A-Za-z0-9_]*) .*/\1/p' "$real/cupti_driver_cbid.h"
} | LC_ALL=C sort -u >real-names
nm -D --defined-only "$BUILD/emu/lib/libcuda.so.1" "$BUILD/emu/lib/libcudart.so.13" |
    awk '$3 { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort -u >exported
LC_ALL=C comm -12 exported real-names | LC_ALL=C comm -23 - named >missing
[ ! -s missing ] || { echo "not in cupti.def:"; cat missing; exit 1; }

[ "$(wc -l <abi.txt)" -gt 200 ] || { echo "only $(wc -l <abi.txt) values were compared"; exit 1; }
[ "$(grep -c '^CUptiResult' prototypes.c)" -gt 24 ] || { echo "too few prototypes found"; exit 1; }

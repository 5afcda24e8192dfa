# hooks/lookups.def against NVIDIA's own table of what a name means from which version of CUDA on.
include=${CUDA_HOME:-/usr/local/cuda}/include
[[ -e $include/cudaTypedefs.h ]] || { echo "no cudaTypedefs.h"; exit 77; }
cc=${CC:-cc}
command -v "$cc" >/dev/null || { echo "no compiler"; exit 77; }
cat >table.c <<EOF2
#include "$ROOT/tracer/hooks/cuda_types.h"
#include <cudaTypedefs.h>
#define HOOK_BY_HAND HOOK
#define HOOK(_lib, _ret, _fn, _params, _args, _record) HOOK_##_lib(_ret, _fn, _params)
#define HOOK_NCCL(...)
#define HOOK_RCCL(...)
#define HOOK_CUBLAS(...)
#define HOOK_CUBLASLT(...)
#define HOOK_CUDART(...)
#define HOOK_CUDA(_ret, _fn, _params) _ret _fn _params;
#include "$ROOT/tracer/hooks/cuda.def"
#define LOOKUP(_symbol, _since, _hook, _since_ptsz, _hook_ptsz) \\
    PFN_##_symbol##_v##_since plain_##_hook = _hook;
#include "$ROOT/tracer/hooks/lookups.def"
EOF2
"$cc" -std=c11 -Wall -Werror -isystem "$include" -fsyntax-only table.c || exit 1
# The twins with a default stream per thread, by name: those that have none stay as they are.
grep -o 'LOOKUP(cu.*)' "$ROOT/tracer/hooks/lookups.def" | tr -d '(),' | sed 's/^LOOKUP//' |
    awk '$4 != "NEVER" { print $1, $4, $5 ~ /_pt[sd][sz]$/ ? substr($5, length($5) - 4) : "" }' |
    while read -r name since twin; do
        grep -qw "PFN_${name}_v$since$twin" "$include/cudaTypedefs.h" || echo "no $name of $since $twin"
        [[ -n $twin ]] || ! grep -q "PFN_${name}_v[0-9]*_pt[sd][sz]" "$include/cudaTypedefs.h" || echo "$name has a twin"
    done
# The newest version of each: a name that means something else from a later one on has a row for it.
grep -o 'LOOKUP(cu.*)' "$ROOT/tracer/hooks/lookups.def" | tr -d '(),' | sed 's/^LOOKUP//' |
    awk '{ newest[$1] = $2 > newest[$1] + 0 ? $2 : newest[$1] } END { for (n in newest) print n, newest[n] }' |
    while read -r name newest; do
        last=$(grep -o "PFN_${name}_v[0-9]*)" "$include/cudaTypedefs.h" | grep -o '[0-9]*)$' | tr -d ')' | sort -n | tail -1)
        [[ $last == "$newest" ]] || echo "$name is of $newest here, of $last there"
    done
exit 0

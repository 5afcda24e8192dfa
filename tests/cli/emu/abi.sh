# The minimal headers of tracer/abi say what the real ones say: every enumerator and number, the
# size of every type, the offset of every named field, and every prototype, those of the hook table
# among them.
set -eu
. "$ROOT/tests/cli/emu/abi.bash"
cc=${CC:-cc}

{
    printf '#include <stdio.h>\n#include <stddef.h>\n'
    echo "$includes"
    cat <<EOF
#define VALUE(v) printf("%s = %lld\n", #v, (long long)(v))
#define SIZE(t) printf("sizeof %s = %zu\n", #t, sizeof(t))
#define FIELD(t, f) printf("%s.%s at %zu, %zu bytes\n", #t, #f, offsetof(t, f), sizeof(((t *)0)->f))
int main(void)
{
EOF
    # enumerators, and macros that stand for a number
    sed -nE 's/^    ([A-Za-z_0-9]+) = [-0-9a-fx]+,?$/VALUE(\1);/p' $headers
    sed -nE 's/^#define ([A-Za-z_0-9]+) [-(0-9A-Z].*$/VALUE(\1);/p' $headers |
        grep -v -e CONFIG_UNDEF_PTR
    # types: `typedef ... name;`, `} name;`, `struct name {` of a public struct
    sed -nE 's/^typedef .*[ *]([A-Za-z_0-9]+);$/SIZE(\1);/p; s/^\} ([A-Za-z_0-9]+);$/SIZE(\1);/p' \
        $headers
    # fields of the structs that are read field by field, and of the heuristic's result
    for type in cudaDeviceProp ncclConfig_v22800 cudaMemcpy3DParms cudaPitchedPtr cudaExtent cudaPos \
        cudaLaunchConfig_st CUlaunchConfig_st CUDA_MEMCPY2D_st; do
        sed -nE "/^(typedef )?struct $type \{/,/^\}/s/^    .*[ *]([A-Za-z]+)(\[[0-9]+\])?;\$/FIELD(struct $type, \1);/p" \
            $headers | grep -v reserved
    done
    for field in algo workspaceSize state wavesCount; do
        echo "FIELD(cublasLtMatmulHeuristicResult_t, $field);"
    done
    echo 'return 0; }'
} >values.c

# Each prototype of ours, declared once more behind the real headers: a difference is an error.
{
    echo "$includes"
    awk '/^(CUresult|cudaError_t|cublasStatus_t|ncclResult_t|size_t|const char \*) *[a-zA-Z]/ { on = 1 }
         on { print }
         /;$/ { on = 0 }' $headers
} >prototypes.c

# The hook table's, too, but for two that have more parameters (hooks/cuda_types.h).
cat >table.c <<EOF
#include "$ROOT/tracer/hooks/cuda_types.h"
$includes
#include "$abi/half.h"
#include "$ROOT/tracer/hooks/nccl_types.h"
#define HOOK(_lib, _ret, _fn, _params, _args, _record) _ret _fn _params;
#include "$ROOT/tracer/hooks.def"
EOF

$cc -I"$abi" -o values-abi values.c
$cc -isystem "$real" -o values-real values.c
./values-abi >abi.txt
./values-real >real.txt
diff abi.txt real.txt
$cc -isystem "$real" -fsyntax-only prototypes.c
$cc -isystem "$real" -fsyntax-only table.c
awk 'END { exit NR < 250 }' abi.txt || { echo "only $(wc -l <abi.txt) values were compared"; exit 1; }
[ "$(grep -c '^[a-zA-Z].*(' prototypes.c)" -gt 100 ] || { echo "too few prototypes found"; exit 1; }

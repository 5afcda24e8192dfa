# The hook table has the prototypes that the real headers declare for C++, some of them only there, where
# __half is known.
. "$ROOT/tests/cli/emu/abi.bash"
command -v c++ >/dev/null || { echo "no c++"; exit 77; }
[ -f "$real/cuda_fp16.h" ] || { echo "no cuda_fp16.h"; exit 77; }
cat >table.cpp <<EOF
$includes
#include <cuda_fp16.h>
#define cudaGraphInstantiate with_words_of_cuda_11_for_one
#define cudaGraphExecUpdate with_words_of_cuda_11_for_another
#undef cuGetProcAddress
extern "C" {
#include "$abi/half.h"
#include "$ROOT/tracer/hooks/nccl_types.h"
#define HOOK(_lib, _ret, _fn, _params, _args, _record) _ret _fn _params;
#include "$ROOT/tracer/hooks.def"
}
EOF
c++ -isystem "$real" -fsyntax-only table.cpp

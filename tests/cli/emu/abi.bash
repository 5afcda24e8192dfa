# The real headers of CUDA and NCCL, and those of ours that say the same: sourced.
for dir in "${CUDA_INCLUDE:-}" "${CUDA_HOME:-/usr/local/cuda}/include" /usr/include; do
    [ -f "$dir/cuda.h" ] && [ -f "$dir/nccl.h" ] && [ -f "$dir/cublasLt.h" ] && real=$dir && break
done
[ -n "${real:-}" ] || { echo "no CUDA and NCCL headers found"; exit 77; }
abi=$ROOT/tracer/abi
headers="$abi/cuda.h $abi/cuda_runtime_api.h $abi/cublas_v2.h $abi/cublasLt.h $abi/nccl.h"
includes=$(for header in $headers; do echo "#include <${header##*/}>"; done)

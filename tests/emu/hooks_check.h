/* SPDX-License-Identifier: MIT
 *
 * Included last in each stand-in, after `#define EMU_LIBRARY_<NAME>`: every function that the hook
 * table gives to that library is defined there, with the table's prototype. A prototype that
 * differs does not compile, a missing function does not link.
 */
#include "../../tracer/abi/half.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#define EMU_DECLARE(_ret, _fn, _params) EMU_API _ret _fn _params;
#define EMU_POINT(_ret, _fn, _params) (void (*)(void))(_fn),

#define HOOK(_lib, _ret, _fn, _params, _args, ...) HOOK_##_lib(EMU_DECLARE, _ret, _fn, _params)

#ifdef EMU_LIBRARY_NCCL
#define HOOK_NCCL(_use, _ret, _fn, _params) _use(_ret, _fn, _params)
#else
#define HOOK_NCCL(_use, _ret, _fn, _params)
#endif
#define HOOK_CUBLAS(_use, _ret, _fn, _params) /* cublas.c is made from the table */
#ifdef EMU_LIBRARY_RCCL
#define HOOK_RCCL(_use, _ret, _fn, _params) _use(_ret, _fn, _params)
#else
#define HOOK_RCCL(_use, _ret, _fn, _params)
#endif
#ifdef EMU_LIBRARY_CUBLASLT
#define HOOK_CUBLASLT(_use, _ret, _fn, _params) _use(_ret, _fn, _params)
#else
#define HOOK_CUBLASLT(_use, _ret, _fn, _params)
#endif
#ifdef EMU_LIBRARY_CUDART
#define HOOK_CUDART(_use, _ret, _fn, _params) _use(_ret, _fn, _params)
#else
#define HOOK_CUDART(_use, _ret, _fn, _params)
#endif
#ifdef EMU_LIBRARY_CUDA
#define HOOK_CUDA(_use, _ret, _fn, _params) _use(_ret, _fn, _params)
#else
#define HOOK_CUDA(_use, _ret, _fn, _params)
#endif

#undef cuGetProcAddress /* the header has it for _v2 */
#include "../../tracer/hooks.def"

#define HOOK(_lib, _ret, _fn, _params, _args, ...) HOOK_##_lib(EMU_POINT, _ret, _fn, _params)

__attribute__((used)) static void (*const hooked_here[])(void) = {
#include "../../tracer/hooks.def"
};

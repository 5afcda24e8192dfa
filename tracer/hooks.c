/* SPDX-License-Identifier: MIT
 *
 * The functions that a program calls instead of the real ones, made from hooks.def. A wrapper finds
 * the real function, says what is called, and calls it with the arguments it got; there is nothing
 * else in it, so that one look shows that no call can be lost or changed.
 */
#include "call.h"

#include <half.h>
#include <cublasLt.h>
#include <cublas_v2.h>
#include <nccl.h>

#include "hooks/calls.h"
#include "hooks/nccl_types.h"

/* ---- what a call returns when no library has the function ---- */

#define X(_id, _stem, _error) enum { MISSING_##_id = _error };
TRACER_LIBS(X)
#undef X

/* ---- the functions ---- */

#define HOOK(_lib, _ret, _fn, _params, _args, _record) EXPORT_VISIBILITY(_lib) _ret _fn _params;
#include "hooks.def"

#define HOOK_BY_HAND(...)
#define HOOK(_lib, _ret, _fn, _params, _args, _record)                                           \
    _ret _fn _params                                                                             \
    {                                                                                            \
        _ret(*real) _params = (_ret(*) _params)resolve(HOOK_##_fn, __builtin_return_address(0)); \
        struct call call;                                                                        \
        _ret result;                                                                             \
        if (real == NULL)                                                                        \
            return (_ret)MISSING_##_lib;                                                         \
        if (!call_enter(&call, HOOK_##_fn, (function)real))                                      \
            return real _args;                                                                   \
        _record;                                                                                 \
        call_begin(&call);                                                                       \
        result = real _args;                                                                     \
        call_end(&call, (int)result);                                                            \
        return result;                                                                           \
    }
#include "hooks.def"

#define HOOK_BY_HAND(...)
#define HOOK(_lib, _ret, _fn, _params, _args, _record) EXPORT_HOOK(_lib, _fn)
#include "hooks.def"

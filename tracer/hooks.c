/* SPDX-License-Identifier: MIT
 *
 * The functions that a program calls instead of the real ones, made from hooks.def. A wrapper finds
 * the real function, says what is called, and calls it with the arguments it got; there is nothing
 * else in it, so that one look shows that no call can be lost or changed.
 */
#include "call.h"

#include <half.h>
#include <cuda_runtime_api.h>
#include <cublasLt.h>
#include <cublas_v2.h>
#include <nccl.h>

/* ---- what hooks.def may say of a call ---- */

#define CALL_COMM_INIT(_handle, _size, _id, _rank, _config) \
    describe_birth(&call, _handle, _size, _id, _rank, _config)
#define CALL_COMM_INIT_ALL(_handles, _count, _devices) \
    describe_birth_all(&call, _handles, _count, _devices)
#define CALL_COMM_SPLIT(_parent, _color, _key, _handle, _config) \
    describe_split(&call, _parent, _color, _key, _handle, _config)
#define CALL_COMM_FINALIZE(_comm) (void)(_comm) /* the handle stays valid until it is destroyed */
#define CALL_COMM_DESTROY(_comm) describe_destroy(&call, _comm)
#define CALL_GROUP_START() describe_group_open(&call)
#define CALL_GROUP_END() describe_group_close(&call)
#define CALL_GROUP_SIMULATE() describe_group_simulate(&call)
#define CALL_COLL(_op, _count, _type, _redop, _root, _send, _recv, _comm, _stream)                \
    describe_coll(&call, SPECTER_##_op, _count, (int)(_type), _redop, _root, _send, _recv, _comm, \
                  _stream)
#define CALL_P2P(_op, _count, _type, _peer, _comm, _stream) \
    describe_p2p(&call, SPECTER_##_op, _count, (int)(_type), _peer, _comm, _stream)
#define CALL_GEMM(_handle, _transa, _transb, _m, _n, _k, _batch, _a, _b, _c, _compute, _lda, _ldb, \
                  _ldc, _beta)                                                                     \
    describe_gemm(&call, &(struct gemm_args){_handle, _transa, _transb, _m, _n, _k, _batch, _a,    \
                                             _b, _c, _compute, _lda, _ldb, _ldc, _beta})
#define CALL_LT_MATMUL(_desc, _a, _b, _c, _d, _beta, _stream) \
    describe_lt_matmul(&call, &(struct lt_args){_desc, _a, _b, _c, _d, _beta, _stream})
#define CALL_DEP(_kind, _event, _stream) describe_dep(&call, RECORD_##_kind, _event, _stream)
#define CALL_SYNC(_kind, _event, _stream) describe_sync(&call, SYNC_##_kind, _event, _stream)

/* What the _ptsz variants mean by the default stream. */
#define PTSZ(_stream) ((_stream) != NULL ? (_stream) : CU_STREAM_PER_THREAD)

/* ---- what a call returns when no library has the function ---- */

#define X(_id, _stem, _error) enum { MISSING_##_id = _error };
TRACER_LIBS(X)
#undef X

/* ---- the functions ---- */

#define HOOK(_lib, _ret, _fn, _params, _args, _record) \
    __attribute__((visibility("default"))) _ret _fn _params;
#include "hooks.def"

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

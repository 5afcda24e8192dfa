/* SPDX-License-Identifier: MIT
 *
 * Macros for the rows of nccl.def, rccl.def, cublas.def and cuda.def: they turn a call's arguments
 * into a struct call (../call.h), and RECORD_OF_* give the kind of its record.
 */
#ifndef SPECTER_TRACER_HOOKS_CALLS_H
#define SPECTER_TRACER_HOOKS_CALLS_H

/* ---- NCCL and RCCL ---- */

#define CALL_COMM_INIT(_handle, _size, _ids, _nids, _rank, _config) \
    describe_comm_init(&call, _handle, _size, _ids, _nids, _rank, _config)
#define CALL_COMM_INIT_ALL(_handles, _count, _devices) \
    describe_comm_init_all(&call, _handles, _count, _devices)
#define CALL_COMM_SPLIT(_parent, _color, _key, _handle, _config) \
    describe_split(&call, _parent, _color, _key, _handle, _config)
#define CALL_COMM_SHRINK(_parent, _excluded, _count, _handle, _config) \
    describe_shrink(&call, _parent, _excluded, _count, _handle, _config)
#define CALL_COMM_GROW(_parent, _handle, _config) describe_grow(&call, _parent, _handle, _config)
/* Nothing that a record could hold: the handle stays valid until it is destroyed, and what a
 * revoked or suspended communicator refuses leaves no record anyway. */
#define CALL_COMM_STAYS(_comm) (void)(_comm)
#define CALL_COMM_DESTROY(_comm) describe_destroy(&call, _comm)
#define CALL_GROUP_START() describe_group_open(&call)
#define CALL_GROUP_END() describe_group_close(&call)
#define CALL_GROUP_SIMULATE() describe_group_simulate(&call)
#define CALL_COLL(_op, _count, _type, _redop, _root, _send, _recv, _comm, _stream)                \
    describe_coll(&call, SPECTER_##_op, _count, (int)(_type), _redop, _root, _send, _recv, _comm, \
                  _stream)
#define CALL_ALLTOALLV(_counts, _type, _send, _recv, _comm, _stream) \
    describe_alltoallv(&call, _counts, (int)(_type), _send, _recv, _comm, _stream)
#define CALL_P2P(_op, _count, _type, _peer, _buffer, _comm, _stream) \
    describe_p2p(&call, SPECTER_##_op, _count, (int)(_type), _peer, _buffer, _comm, _stream)

#define NO_ELEMENTS (-1) /* the type of what moves no data */
#define PEER_OF_WAIT(_count, _waits) ((_count) == 1 && (_waits) != NULL ? (_waits)[0].peer : -1)

/* The kind of record that each leaves, or -1. */
#define RECORD_OF_CALL_COMM_INIT(...) -1
#define RECORD_OF_CALL_COMM_INIT_ALL(...) -1
#define RECORD_OF_CALL_COMM_SPLIT(...) -1
#define RECORD_OF_CALL_COMM_SHRINK(...) -1
#define RECORD_OF_CALL_COMM_GROW(...) -1
#define RECORD_OF_CALL_COMM_STAYS(...) -1
#define RECORD_OF_CALL_COMM_DESTROY(...) -1
#define RECORD_OF_CALL_GROUP_START(...) -1
#define RECORD_OF_CALL_GROUP_END(...) -1
#define RECORD_OF_CALL_GROUP_SIMULATE(...) -1
#define RECORD_OF_CALL_COLL(...) RECORD_NCCL
#define RECORD_OF_CALL_ALLTOALLV(...) RECORD_NCCL
#define RECORD_OF_CALL_P2P(...) RECORD_NCCL

/* ---- cuBLAS and cublasLt ---- */

/* clang-format off */

/* One shape, however the matrices are given. _complex: operations of a complex product for one
 * m, n, k. */
#define CALL_GEMM(_int, _handle, _transa, _transb, _m, _n, _k, _batch, _a, _b, _c, _compute,       \
                  _complex, _lda, _ldb, _ldc, _beta)                                               \
    describe_gemm(&call,                                                                           \
                  &(struct gemm_args){_handle, {_a, _b, _c, (int)(_compute)}, _transa, _transb,    \
                                      _m, _n, _k, _batch, _lda, _ldb, _ldc, _complex, _beta})
#define CALL_GEMM_BATCHED CALL_GEMM
#define CALL_GEMM_STRIDED CALL_GEMM

/* Arrays of _int in host memory, an entry a group. */
#define CALL_GEMM_GROUPED(_int, _handle, _transa, _transb, _m, _n, _k, _count, _size, _a, _b, _c,  \
                          _compute, _lda, _ldb, _ldc, _beta)                                       \
    describe_gemm_grouped(&call,                                                                   \
                          &(struct grouped_args){_handle, {_a, _b, _c, (int)(_compute)},           \
                                                 sizeof(_int) == sizeof(int64_t), _count, _transa, \
                                                 _transb, _m, _n, _k, _size, _lda, _ldb, _ldc,     \
                                                 _beta})

/* clang-format on */

#define CALL_LT_MATMUL(_desc, _a, _b, _d, _beta, _stream) \
    describe_lt_matmul(&call, &(struct lt_args){_desc, _a, _b, _d, _beta, _stream})

/* The kind of record that each leaves. */
#define RECORD_OF_CALL_GEMM(...) RECORD_GEMM
#define RECORD_OF_CALL_GEMM_BATCHED(...) RECORD_GEMM
#define RECORD_OF_CALL_GEMM_STRIDED(...) RECORD_GEMM
#define RECORD_OF_CALL_GEMM_GROUPED(...) RECORD_GEMM
#define RECORD_OF_CALL_LT_MATMUL(...) RECORD_GEMM

/* ---- CUDA runtime and driver ---- */

#define CALL_DEP(_kind, _event, _stream) describe_dep(&call, RECORD_##_kind, _event, _stream)
#define CALL_SYNC(_kind, _event, _stream) describe_sync(&call, SYNC_##_kind, _event, _stream)

#define CALL_STREAM_DESTROY(_stream) describe_stream_destroy(&call, _stream)
#define CALL_EVENT_DESTROY(_event) describe_event_destroy(&call, _event)
#define CALL_COPY(_kind, _to, _from, _bytes, _stream) \
    describe_copy(&call, _kind, _to, _from, _bytes, _stream)
#define CALL_COPY_2D(_params, _stream) describe_copy_2d(&call, _params, _stream)
#define CALL_COPY_3D(_params, _stream) describe_copy_3d(&call, _params, _stream)
/* _to, _from: devices or contexts. */
#define CALL_COPY_PEER(_to, _from, _bytes, _stream) \
    describe_copy_peer(&call, (_to) != (_from), _bytes, _stream)
/* A symbol is the host's name for memory of the device. */
#define CALL_COPY_TO_SYMBOL(_kind, _from, _bytes, _stream) \
    describe_copy(&call, _kind, COPY_SYMBOL, _from, _bytes, _stream)
#define CALL_COPY_FROM_SYMBOL(_kind, _to, _bytes, _stream) \
    describe_copy(&call, _kind, _to, COPY_SYMBOL, _bytes, _stream)
#define CALL_FILL(_bytes, _stream) describe_fill(&call, _bytes, _stream)

#define CALL_LAUNCH(_from, _function, _stream) \
    describe_launch(&call, KERNEL_##_from, _function, _stream)

#define CALL_CAPTURE_BEGIN(_stream) describe_capture_begin(&call, _stream)
#define CALL_CAPTURE_END(_stream, _graph) describe_capture_end(&call, _stream, _graph)
#define CALL_GRAPH_INSTANTIATE(_exec, _graph) describe_instantiate(&call, _exec, _graph)
#define CALL_GRAPH_UPDATE(_exec, _graph) describe_update(&call, _exec, _graph)
#define CALL_GRAPH_CLONE(_clone, _graph) describe_clone(&call, _clone, _graph)
#define CALL_GRAPH_DESTROY(_graph) describe_graph_destroy(&call, _graph)
#define CALL_EXEC_DESTROY(_exec) describe_exec_destroy(&call, _exec)
#define CALL_GRAPH_LAUNCH(_exec, _stream) describe_graph_launch(&call, _exec, _stream)

/* The default stream of the _ptsz variants. */
#define PTSZ(_stream) ((_stream) != NULL ? (_stream) : CU_STREAM_PER_THREAD)

/* The stream that a launch's configuration names; the real call refuses one that is not there. */
#define STREAM_OF(_config, _member) ((_config) != NULL ? (_config)->_member : NULL)

#define POINTER(_device) ((const void *)(uintptr_t)(_device))

/* The kind of record that each leaves, or -1. */
#define RECORD_OF_CALL_DEP(_kind, ...) RECORD_##_kind
#define RECORD_OF_CALL_SYNC(...) RECORD_SYNC
#define RECORD_OF_CALL_STREAM_DESTROY(...) -1
#define RECORD_OF_CALL_EVENT_DESTROY(...) -1
#define RECORD_OF_CALL_COPY(...) RECORD_COPY
#define RECORD_OF_CALL_COPY_2D(...) RECORD_COPY
#define RECORD_OF_CALL_COPY_3D(...) RECORD_COPY
#define RECORD_OF_CALL_COPY_PEER(...) RECORD_COPY
#define RECORD_OF_CALL_COPY_TO_SYMBOL(...) RECORD_COPY
#define RECORD_OF_CALL_COPY_FROM_SYMBOL(...) RECORD_COPY
#define RECORD_OF_CALL_FILL(...) RECORD_COPY
#define RECORD_OF_CALL_LAUNCH(...) RECORD_LAUNCH
#define RECORD_OF_CALL_CAPTURE_BEGIN(...) -1
#define RECORD_OF_CALL_CAPTURE_END(...) -1
#define RECORD_OF_CALL_GRAPH_INSTANTIATE(...) -1
#define RECORD_OF_CALL_GRAPH_UPDATE(...) -1
#define RECORD_OF_CALL_GRAPH_CLONE(...) -1
#define RECORD_OF_CALL_GRAPH_DESTROY(...) -1
#define RECORD_OF_CALL_EXEC_DESTROY(...) -1
#define RECORD_OF_CALL_GRAPH_LAUNCH(...) RECORD_GRAPH
#define RECORD_OF_CALL_LOOKUP -1

#endif

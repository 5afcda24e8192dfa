/* SPDX-License-Identifier: MIT
 *
 * What nccl.def may say of a call: how its arguments become a struct call.
 */
#ifndef SPECTER_TRACER_HOOKS_NCCL_H
#define SPECTER_TRACER_HOOKS_NCCL_H

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
#define CALL_P2P(_op, _count, _type, _peer, _buffer, _comm, _stream) \
    describe_p2p(&call, SPECTER_##_op, _count, (int)(_type), _peer, _buffer, _comm, _stream)

/* The kind of record that each leaves, or -1. */
#define RECORD_OF_CALL_COMM_INIT(...) -1
#define RECORD_OF_CALL_COMM_INIT_ALL(...) -1
#define RECORD_OF_CALL_COMM_SPLIT(...) -1
#define RECORD_OF_CALL_COMM_FINALIZE(...) -1
#define RECORD_OF_CALL_COMM_DESTROY(...) -1
#define RECORD_OF_CALL_GROUP_START(...) -1
#define RECORD_OF_CALL_GROUP_END(...) -1
#define RECORD_OF_CALL_GROUP_SIMULATE(...) -1
#define RECORD_OF_CALL_COLL(...) RECORD_NCCL
#define RECORD_OF_CALL_P2P(...) RECORD_NCCL

#endif

/* SPDX-License-Identifier: MIT
 *
 * What nccl.def and rccl.def may say of a call: how its arguments become a struct call.
 */
#ifndef SPECTER_TRACER_HOOKS_NCCL_H
#define SPECTER_TRACER_HOOKS_NCCL_H

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

#endif

/* SPDX-License-Identifier: MIT
 *
 * What cuda.def may say of a call: how its arguments become a struct call.
 */
#ifndef SPECTER_TRACER_HOOKS_CUDA_H
#define SPECTER_TRACER_HOOKS_CUDA_H

#define CALL_DEP(_kind, _event, _stream) describe_dep(&call, RECORD_##_kind, _event, _stream)
#define CALL_SYNC(_kind, _event, _stream) describe_sync(&call, SYNC_##_kind, _event, _stream)

#define CALL_STREAM_END(_stream) describe_stream_end(&call, _stream)
#define CALL_EVENT_END(_event) describe_event_end(&call, _event)
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

/* What the _ptsz variants mean by the default stream. */
#define PTSZ(_stream) ((_stream) != NULL ? (_stream) : CU_STREAM_PER_THREAD)

/* The stream that a launch's configuration names; the real call refuses one that is not there. */
#define STREAM_OF(_config, _member) ((_config) != NULL ? (_config)->_member : NULL)

#define POINTER(_device) ((const void *)(uintptr_t)(_device))

/* The kind of record that each leaves, or -1. */
#define RECORD_OF_CALL_DEP(_kind, ...) RECORD_##_kind
#define RECORD_OF_CALL_SYNC(...) RECORD_SYNC
#define RECORD_OF_CALL_STREAM_END(...) -1
#define RECORD_OF_CALL_EVENT_END(...) -1
#define RECORD_OF_CALL_COPY(...) RECORD_COPY
#define RECORD_OF_CALL_COPY_2D(...) RECORD_COPY
#define RECORD_OF_CALL_COPY_3D(...) RECORD_COPY
#define RECORD_OF_CALL_COPY_PEER(...) RECORD_COPY
#define RECORD_OF_CALL_COPY_TO_SYMBOL(...) RECORD_COPY
#define RECORD_OF_CALL_COPY_FROM_SYMBOL(...) RECORD_COPY
#define RECORD_OF_CALL_FILL(...) RECORD_COPY
#define RECORD_OF_CALL_LAUNCH(...) RECORD_UNTRACED
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

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

/* What the _ptsz variants mean by the default stream. */
#define PTSZ(_stream) ((_stream) != NULL ? (_stream) : CU_STREAM_PER_THREAD)

/* The kind of record that each leaves. */
#define RECORD_OF_CALL_DEP(_kind, ...) RECORD_##_kind
#define RECORD_OF_CALL_SYNC(...) RECORD_SYNC
#define RECORD_OF_CALL_STREAM_END(...) -1
#define RECORD_OF_CALL_EVENT_END(...) -1

#endif

/* SPDX-License-Identifier: MIT
 *
 * libcupti.so.13: the part of CUPTI that PyTorch's profiler (Kineto) uses. See README.md for what
 * is recorded and what is not.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_parts.h"
#include "emu.h"

/* ---- functions ---- */

static const struct cupti_function functions[] = {
#define RUNTIME(_name, _version, _cbid) {#_name, CUPTI_CB_DOMAIN_RUNTIME_API, _cbid},
#define DRIVER(_name, _cbid) {#_name, CUPTI_CB_DOMAIN_DRIVER_API, _cbid},
#include "cupti.def"
#undef RUNTIME
#undef DRIVER
};

static int compare(const void *name, const void *function)
{
    return strcmp(name, ((const struct cupti_function *)function)->name);
}

const struct cupti_function *cupti_function(const char *name)
{
    return bsearch(name, functions, sizeof functions / sizeof *functions, sizeof *functions,
                   compare);
}

/* ---- what is heard ---- */

static void call_begins(const struct emu_heard_call *call)
{
    const struct cupti_function *function = cupti_function(call->name);
    cupti_clock_tie(call->start);
    if (function == NULL)
        return;
    cupti_record_begin(function, call);
    cupti_tell_call(function, call, CUPTI_API_ENTER);
}

static void call_ends(const struct emu_heard_call *call)
{
    const struct cupti_function *function = cupti_function(call->name);
    if (function == NULL)
        return;
    cupti_record_call(function, call);
    cupti_tell_call(function, call, CUPTI_API_EXIT);
}

static void synced(const struct emu_heard_sync *sync)
{
    cupti_record_sync(sync);
    if (sync->type != HEARD_RECORD && sync->type != HEARD_STREAM_WAIT)
        cupti_clock_await(sync->end);
}

void cupti_listen(void)
{
    static const struct emu_listener listener = {call_begins, call_ends, cupti_record_work, synced,
                                                 cupti_tell_context};
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock); /* who asks last must tell last */
    emu_listen(cupti_recording() || cupti_subscribed() ? &listener : NULL);
    pthread_mutex_unlock(&lock);
}

/* ---- versions, errors, numbers ---- */

EMU_API CUptiResult cuptiGetVersion(uint32_t *version)
{
    if (version == NULL)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

static const struct {
    CUptiResult result;
    const char *name;
} results[] = {
#define RESULT(_result)   \
    {                     \
        _result, #_result \
    }
    RESULT(CUPTI_SUCCESS),
    RESULT(CUPTI_ERROR_INVALID_PARAMETER),
    RESULT(CUPTI_ERROR_INVALID_DEVICE),
    RESULT(CUPTI_ERROR_INVALID_CONTEXT),
    RESULT(CUPTI_ERROR_INVALID_OPERATION),
    RESULT(CUPTI_ERROR_OUT_OF_MEMORY),
    RESULT(CUPTI_ERROR_MAX_LIMIT_REACHED),
    RESULT(CUPTI_ERROR_NOT_COMPATIBLE),
    RESULT(CUPTI_ERROR_NOT_INITIALIZED),
    RESULT(CUPTI_ERROR_QUEUE_EMPTY),
    RESULT(CUPTI_ERROR_INVALID_STREAM),
    RESULT(CUPTI_ERROR_INVALID_KIND),
    RESULT(CUPTI_ERROR_NOT_SUPPORTED),
    RESULT(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES),
    RESULT(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED),
    RESULT(CUPTI_ERROR_UNKNOWN),
#undef RESULT
};

EMU_API CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    for (size_t i = 0; text != NULL && i < sizeof results / sizeof *results; i++)
        if (results[i].result == result) {
            *text = results[i].name;
            return CUPTI_SUCCESS;
        }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

EMU_API CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **text)
{
    return cuptiGetResultString(result, text);
}

EMU_API CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    if (timestamp == NULL)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *timestamp = cupti_stamp(emu_time());
    return CUPTI_SUCCESS;
}

EMU_API CUptiResult cuptiGetContextId(CUcontext context, uint32_t *id)
{
    if (context == NULL || id == NULL)
        return context != NULL ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_ERROR_INVALID_CONTEXT;
    *id = emu_context_id(context);
    return CUPTI_SUCCESS;
}

EMU_API CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
    if (context == NULL || id == NULL)
        return context != NULL ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_ERROR_INVALID_CONTEXT;
    *id = (uint32_t)emu_context_device(context);
    return CUPTI_SUCCESS;
}

EMU_API CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread,
                                       uint32_t *id)
{
    static struct emu_thread no_thread; /* has no stream of its own */
    CUstream found;
    if (context == NULL || id == NULL)
        return context != NULL ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_ERROR_INVALID_CONTEXT;
    if (stream == CU_STREAM_PER_THREAD || (per_thread && stream == NULL))
        return CUPTI_ERROR_NOT_SUPPORTED;
    if (emu_stream_find(&no_thread, stream, context, &found))
        return CUPTI_ERROR_INVALID_STREAM;
    *id = emu_stream_id(found);
    return CUPTI_SUCCESS;
}

/* Sizes of what CUPTI keeps for itself: there is none of it here. */
EMU_API CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *size,
                                              void *value)
{
    (void)attribute;
    return size != NULL && value != NULL ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

EMU_API CUptiResult cuptiFinalize(void)
{
    cupti_stop_recording();
    cupti_unsubscribe_all();
    cupti_listen();
    cupti_flush();
    return CUPTI_SUCCESS;
}

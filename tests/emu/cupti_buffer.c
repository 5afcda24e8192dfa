/* SPDX-License-Identifier: MIT
 *
 * The program's buffers: one at a time is filled, and handed back when a record does not fit, or by
 * a flush. The program is called back with the lock held; it may ask for what was dropped, nothing
 * else.
 */
#include <pthread.h>
#include <string.h>

#include "cupti_parts.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static atomic_size_t dropped;

static struct {
    uint8_t *bytes; /* NULL: there is none */
    size_t size, used;
    size_t most, records; /* most: 0 where there is no limit but the size */
} current;

EMU_API CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                                   CUpti_BuffersCallbackCompleteFunc completed)
{
    if (requested == NULL || completed == NULL)
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    request = requested;
    complete = completed;
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

/* The lock is held. */
static void hand_back(void)
{
    if (current.bytes != NULL)
        complete(NULL, 0, current.bytes, current.size, current.used);
    memset(&current, 0, sizeof current);
}

static bool fits(size_t size)
{
    return current.bytes != NULL && size <= current.size - current.used &&
           (!current.most || current.records < current.most);
}

void cupti_put(const void *record, size_t size)
{
    pthread_mutex_lock(&lock);
    if (request != NULL && !fits(size)) {
        hand_back();
        request(&current.bytes, &current.size, &current.most);
    }
    if (fits(size)) {
        memcpy(current.bytes + current.used, record, size);
        current.used += size;
        current.records++;
    } else {
        atomic_fetch_add(&dropped, 1);
    }
    pthread_mutex_unlock(&lock);
}

void cupti_flush(void)
{
    pthread_mutex_lock(&lock);
    hand_back();
    pthread_mutex_unlock(&lock);
}

/* Records are complete when they are put, so a flush that is forced does no more. */
EMU_API CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    cupti_flush();
    cupti_clock_loosen();
    return CUPTI_SUCCESS;
}

static size_t record_size(CUpti_ActivityKind kind)
{
    switch ((int)kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
        return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
        return sizeof(CUpti_ActivityCudaEvent2);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return sizeof(CUpti_ActivityExternalCorrelation);
    default:
        return 0;
    }
}

EMU_API CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
                                               CUpti_Activity **record)
{
    uint8_t *next = buffer;
    CUpti_ActivityKind kind;
    if (buffer == NULL || record == NULL)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (*record != NULL) {
        size_t size = record_size((*record)->kind);
        if (!size)
            return CUPTI_ERROR_INVALID_KIND;
        next = (uint8_t *)*record + size;
    }
    if (next + sizeof kind > buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    memcpy(&kind, next, sizeof kind);
    if (!record_size(kind))
        return CUPTI_ERROR_INVALID_KIND;
    if (next + record_size(kind) > buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(void *)next;
    return CUPTI_SUCCESS;
}

/* Since it was last asked. */
EMU_API CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
                                                      size_t *count)
{
    (void)context;
    (void)stream;
    if (count == NULL)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *count = atomic_exchange(&dropped, 0);
    return CUPTI_SUCCESS;
}

/* SPDX-License-Identifier: MIT
 *
 * Which calls wait: "API synchronization behavior" of the CUDA Runtime API, "Implicit
 * Synchronization" of the CUDA Programming Guide, and HIP's documentation of the same functions.
 */
#include "trace/api_calls.h"

#include "trace/run.h"

#include <stdbool.h>
#include <string.h>

/* How the text of a row stands in a name. */
enum part { WHOLE, BEGINS, CONTAINS };

/* The first row that fits counts. */
static const struct {
    const char *text;
    enum part part;
    enum api_call call;
} calls[] = {
    {"StreamSynchronize", WHOLE, API_SYNC_STREAM},
    {"DeviceSynchronize", WHOLE, API_SYNC_DEVICE},
    {"CtxSynchronize", WHOLE, API_SYNC_DEVICE},
    {"ThreadSynchronize", WHOLE, API_SYNC_DEVICE},
    {"EventSynchronize", WHOLE, API_SYNC_EVENT},
    {"StreamWaitEvent", WHOLE, API_WAIT},
    {"EventRecord", BEGINS, API_RECORD}, /* EventRecordWithFlags */
    /* Those that allocate in the order of a stream (MallocAsync, FreeAsync) are other calls. */
    {"Malloc", WHOLE, API_ALLOC},
    {"MallocPitch", WHOLE, API_ALLOC},
    {"Malloc3D", WHOLE, API_ALLOC},
    {"MallocArray", WHOLE, API_ALLOC},
    {"Malloc3DArray", WHOLE, API_ALLOC},
    {"MallocManaged", WHOLE, API_ALLOC},
    {"MallocHost", WHOLE, API_ALLOC},
    {"HostAlloc", WHOLE, API_ALLOC},
    {"HostMalloc", WHOLE, API_ALLOC},
    {"ExtMallocWithFlags", WHOLE, API_ALLOC},
    {"HostRegister", WHOLE, API_ALLOC},
    {"MemAlloc", WHOLE, API_ALLOC},
    {"MemAllocPitch", WHOLE, API_ALLOC},
    {"MemAllocHost", WHOLE, API_ALLOC},
    {"MemAllocManaged", WHOLE, API_ALLOC},
    {"MemHostAlloc", WHOLE, API_ALLOC},
    {"MemHostRegister", WHOLE, API_ALLOC},
    {"Free", WHOLE, API_FREE},
    {"FreeArray", WHOLE, API_FREE},
    {"FreeHost", WHOLE, API_FREE},
    {"HostFree", WHOLE, API_FREE},
    {"HostUnregister", WHOLE, API_FREE},
    {"MemFree", WHOLE, API_FREE},
    {"MemFreeHost", WHOLE, API_FREE},
    {"MemHostUnregister", WHOLE, API_FREE},
    {"MemUnmap", WHOLE, API_FREE},
    {"MemcpyPeer", BEGINS, API_LAUNCH}, /* between devices: the host does not wait */
    {"Memcpy3DPeer", BEGINS, API_LAUNCH},
    {"MemcpyWithStream", WHOLE, API_COPY}, /* of HIP: a copy and a synchronisation */
    {"Memcpy", BEGINS, API_COPY},
    {"Memset", BEGINS, API_LAUNCH},
    {"GraphLaunch", BEGINS, API_GRAPH},
    {"Launch", CONTAINS, API_LAUNCH},
    /* Level Zero and Unified Runtime, under which Intel's GPUs run */
    {"zeCommandListHostSynchronize", WHOLE, API_SYNC_STREAM},
    {"zeCommandQueueSynchronize", WHOLE, API_SYNC_STREAM},
    {"urQueueFinish", WHOLE, API_SYNC_STREAM},
    {"zeEventHostSynchronize", WHOLE, API_SYNC_EVENT},
    {"zeFenceHostSynchronize", WHOLE, API_SYNC_EVENT},
    {"urEventWait", WHOLE, API_SYNC_EVENT},
    {"zeCommandListAppend", BEGINS, API_LAUNCH},
    {"urEnqueue", BEGINS, API_LAUNCH},
};

/* A part of a name; not terminated. */
struct part_of {
    const char *p;
    size_t len;
};

static bool begins(struct part_of name, const char *with)
{
    size_t len = strlen(with);
    return name.len >= len && memcmp(name.p, with, len) == 0;
}

static bool ends(struct part_of name, const char *with)
{
    size_t len = strlen(with);
    return name.len >= len && memcmp(name.p + name.len - len, with, len) == 0;
}

static bool contains(struct part_of name, const char *what)
{
    return memmem(name.p, name.len, what, strlen(what)) != NULL;
}

/* How long a version at the end of a name is: "_v3020"; 0 without one. */
static size_t version_len(struct part_of name)
{
    size_t at = name.len;
    while (at > 0 && name.p[at - 1] >= '0' && name.p[at - 1] <= '9')
        at--;
    return at < name.len && at > 2 && memcmp(name.p + at - 2, "_v", 2) == 0 ? name.len - at + 2 : 0;
}

/* The name without what differs between libraries and versions. */
static struct part_of core_of(struct part_of name)
{
    static const char *const front[] = {"cuda", "cu", "hip"};
    static const char *const behind[] = {"_ptsz", "_ptds", "_spt"};
    size_t cut = 0;
    for (size_t i = 0; i < sizeof front / sizeof *front && cut == 0; i++)
        cut = begins(name, front[i]) ? strlen(front[i]) : 0;
    name.p += cut;
    name.len -= cut;
    do {
        cut = version_len(name);
        for (size_t i = 0; i < sizeof behind / sizeof *behind && cut == 0; i++)
            cut = ends(name, behind[i]) ? strlen(behind[i]) : 0;
        name.len -= cut;
    } while (cut > 0);
    return name;
}

static bool fits(struct part_of name, const char *text, enum part part)
{
    switch (part) {
    case WHOLE:
        return name.len == strlen(text) && begins(name, text);
    case BEGINS:
        return begins(name, text);
    case CONTAINS:
        return contains(name, text);
    }
    return false;
}

enum api_call api_call_named(const char *name, size_t len)
{
    struct part_of core = core_of((struct part_of){name, len});
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (!fits(core, calls[i].text, calls[i].part))
            continue;
        return calls[i].call == API_COPY && contains(core, "Async") ? API_COPY_ASYNC
                                                                    : calls[i].call;
    }
    return API_OTHER;
}

int api_call_sync_kind(enum api_call call)
{
    switch (call) {
    case API_RECORD:
        return SYNC_CALL_RECORD;
    case API_WAIT:
        return SYNC_CALL_WAIT;
    case API_SYNC_STREAM:
        return SYNC_CALL_STREAM;
    case API_SYNC_EVENT:
        return SYNC_CALL_EVENT;
    case API_SYNC_DEVICE:
        return SYNC_CALL_DEVICE;
    case API_ALLOC:
        return SYNC_CALL_ALLOC;
    case API_FREE:
        return SYNC_CALL_FREE;
    case API_OTHER:
    case API_LAUNCH:
    case API_GRAPH:
    case API_COPY_ASYNC:
    case API_COPY:
        break;
    }
    return -1;
}

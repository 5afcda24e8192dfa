/* SPDX-License-Identifier: MIT
 *
 * libamdhip64.so.6: devices, streams and events on the machine's own clock. A stream is the time at
 * which its work ends.
 */
#include "hip.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEVICES 2

struct ihipEvent_t {
    _Atomic uint64_t at;
};

struct hip_stream {
    _Atomic uint64_t end;
    int device;
};

static _Thread_local int current;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* 0, 1 and 2 are the default streams of the current device; here one for all three. */
static struct hip_stream *find(hipStream_t stream)
{
    static struct hip_stream defaults[DEVICES] = {{0, 0}, {0, 1}};
    return (uintptr_t)stream > 2 ? (struct hip_stream *)(void *)stream : &defaults[current];
}

/* When what is put on the stream now would begin. */
static uint64_t turn(const struct hip_stream *s)
{
    uint64_t now = now_ns(), end = atomic_load(&s->end);
    return end > now ? end : now;
}

void emuHipWork(hipStream_t stream, uint64_t ns)
{
    struct hip_stream *s = find(stream);
    atomic_store(&s->end, turn(s) + ns);
}

hipError_t hipGetDevice(int *device)
{
    *device = current;
    return hipSuccess;
}

hipError_t hipSetDevice(int device)
{
    if (device < 0 || device >= DEVICES)
        return hipErrorInvalidDevice;
    current = device;
    return hipSuccess;
}

hipError_t hipGetDeviceCount(int *count)
{
    *count = DEVICES;
    return hipSuccess;
}

hipError_t hipDeviceGetName(char *name, int len, int device)
{
    (void)device;
    snprintf(name, (size_t)len, "AMD Instinct MI300X");
    return hipSuccess;
}

hipError_t hipDeviceGetPCIBusId(char *id, int len, int device)
{
    snprintf(id, (size_t)len, "0000:%02x:00.0", 5 + device);
    return hipSuccess;
}

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof(**event));
    return *event != NULL ? hipSuccess : hipErrorInvalidValue;
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    atomic_store(&event->at, turn(find(stream)));
    return hipSuccess;
}

hipError_t hipEventQuery(hipEvent_t event)
{
    return now_ns() >= atomic_load(&event->at) ? hipSuccess : hipErrorNotReady;
}

hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
    *ms = (float)((double)(atomic_load(&stop->at) - atomic_load(&start->at)) / 1e6);
    return hipEventQuery(stop);
}

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags)
{
    struct hip_stream *s = calloc(1, sizeof *s);
    (void)flags;
    if (s == NULL)
        return hipErrorInvalidValue;
    s->device = current;
    *stream = (hipStream_t)(void *)s;
    return hipSuccess;
}

hipError_t hipStreamGetDevice(hipStream_t stream, int *device)
{
    *device = find(stream)->device;
    return hipSuccess;
}

hipError_t hipStreamIsCapturing(hipStream_t stream, int *status)
{
    (void)stream;
    *status = 0;
    return hipSuccess;
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    uint64_t now = now_ns(), end = turn(find(stream));
    struct timespec left = {(time_t)((end - now) / 1000000000u), (long)((end - now) % 1000000000u)};
    if (end > now)
        nanosleep(&left, NULL);
    return hipSuccess;
}

hipError_t hipThreadExchangeStreamCaptureMode(int *mode)
{
    static _Thread_local int mine;
    int was = mine;
    mine = *mode;
    *mode = was;
    return hipSuccess;
}

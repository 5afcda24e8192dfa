/* SPDX-License-Identifier: MIT
 *
 * libspecter_probe.so: stands where the tracer stands. Its name makes its calls an observer's, so
 * the checks can see what the stand-ins promise a tracer.
 */
#include <cuda.h>

#include "emu.h"
#include "probe.h"

/* Not the last thing a function does: a tail call would return to the caller, not to us. */
static CUresult kept(CUresult result)
{
    __asm__ volatile("" ::: "memory");
    return result;
}

CUresult probe_record(CUevent event, CUstream stream)
{
    return kept(cuEventRecord(event, stream));
}

CUresult probe_query(CUevent event)
{
    return kept(cuEventQuery(event));
}

CUresult probe_sync(CUstream stream)
{
    return kept(cuStreamSynchronize(stream));
}

CUresult probe_event(CUevent *event)
{
    return kept(cuEventCreate(event, CU_EVENT_DEFAULT));
}

CUresult probe_stream(CUstream *stream)
{
    return kept(cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
}

CUresult probe_elapsed(float *ms, CUevent start, CUevent end)
{
    return kept(cuEventElapsedTime(ms, start, end));
}

uint64_t probe_clock(void)
{
    return emuHostClockNs();
}

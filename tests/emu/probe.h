/* SPDX-License-Identifier: MIT
 *
 * Driver calls made from a library that the stand-ins take for the tracer.
 */
#ifndef EMU_PROBE_H
#define EMU_PROBE_H

#include <cuda.h>
#include <stdint.h>

CUresult probe_record(CUevent event, CUstream stream);
CUresult probe_query(CUevent event);
CUresult probe_sync(CUstream stream);
CUresult probe_event(CUevent *event);
CUresult probe_stream(CUstream *stream);
CUresult probe_elapsed(float *ms, CUevent start, CUevent end);
uint64_t probe_clock(void);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of the driver's interface.
 */
#ifndef EMU_DRIVER_H
#define EMU_DRIVER_H

#include "core.h"

#define ADDRESS(_pointer) ((void *)(uintptr_t)(_pointer))

/* CUDA_SUCCESS after cuInit, in the process that called it, until the driver ends. */
CUresult emu_driver_ready(void);

bool emu_device_valid(int device);

#define READY()                               \
    do {                                      \
        CUresult ready_ = emu_driver_ready(); \
        if (ready_)                           \
            return ready_;                    \
    } while (0)

/* A whole function that needs cuInit: DRIVER_CALL(cuMemFree, (CUdeviceptr pointer), what to do). */
#define DRIVER_CALL(_name, _params, _do) \
    EMU_API CUresult _name _params;      \
    CUresult _name _params               \
    {                                    \
        EMU_CALL(self);                  \
        (void)self;                      \
        READY();                         \
        return _do;                      \
    }

/* STREAM_CALL(name, parameters with `stream`, what to do): a call and its twin for programs
 * compiled for per-thread default streams, in which handle 0 means the calling thread's stream. */
#define STREAM_CALL(_name, _params, _do)                 \
    EMU_API CUresult _name _params;                      \
    CUresult _name _params                               \
    {                                                    \
        EMU_CALL(self);                                  \
        READY();                                         \
        return _do;                                      \
    }                                                    \
    EMU_API CUresult _name##_ptsz _params;               \
    CUresult _name##_ptsz _params                        \
    {                                                    \
        EMU_CALL(self);                                  \
        READY();                                         \
        stream = stream ? stream : CU_STREAM_PER_THREAD; \
        return _do;                                      \
    }

/* The first version of a call, which old programs and careful libraries look up by name. */
#define FIRST_VERSION(_old, _new) EMU_API extern __typeof__(_new) _old __attribute__((alias(#_new)))

#endif

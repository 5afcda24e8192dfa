/* SPDX-License-Identifier: MIT
 *
 * Inside libcupti.so.13: what its parts offer each other.
 *
 *     cupti.c           versions, errors, numbers of contexts and streams, the end
 *     cupti_activity.c  which kinds are recorded; what is heard (listen.h) becomes records
 *     cupti_buffer.c    the program's buffers
 *     cupti_callback.c  the subscriber
 *     cupti_clock.c     the times in records
 */
#ifndef EMU_CUPTI_PARTS_H
#define EMU_CUPTI_PARTS_H

#include "abi/cupti.h"

#include "export.h"
#include "listen.h"

/* ---- functions (cupti.def) ---- */

struct cupti_function {
    const char *name;
    CUpti_CallbackDomain domain;
    CUpti_CallbackId cbid;
};

/* NULL: CUPTI has no number for it. */
const struct cupti_function *cupti_function(const char *name);

#define CUPTI_CBIDS 1024 /* more than any domain has */

/* ---- activities ---- */

/* Returns whether any kind is on. */
bool cupti_recording(void);
void cupti_stop_recording(void);

void cupti_record_begin(const struct cupti_function *function, const struct emu_heard_call *call);
void cupti_record_call(const struct cupti_function *function, const struct emu_heard_call *call);
void cupti_record_work(const struct emu_heard_work *work);
void cupti_record_sync(const struct emu_heard_sync *sync);

/* ---- buffers ---- */

/* Copies a record into the current buffer. It calls the program back for a new one. */
void cupti_put(const void *record, size_t size);

/* Hands the current buffer back. */
void cupti_flush(void);

/* ---- callbacks ---- */

bool cupti_subscribed(void);
void cupti_unsubscribe_all(void);
void cupti_tell_call(const struct cupti_function *function, const struct emu_heard_call *call,
                     CUpti_ApiCallbackSite site);
void cupti_tell_context(CUcontext context, bool created);

/* To be called when recording or subscription has changed: the driver is listened to as long as
 * there is one of them. */
void cupti_listen(void);

/* ---- times ---- */

/* A time of the machine as the program wants it: on the host's clock, or on a device's. */
uint64_t cupti_stamp(uint64_t ns);
uint64_t cupti_device_stamp(int device, uint64_t ns);

/* It is ns now: to which times are tied that were loose. */
void cupti_clock_tie(uint64_t ns);
void cupti_clock_loosen(void);

/* Returns when the program's clock has come to ns. */
void cupti_clock_await(uint64_t ns);

#endif

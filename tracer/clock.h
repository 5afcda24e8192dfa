/* SPDX-License-Identifier: MIT
 *
 * The clocks.
 *
 * clock_host_ns() is the time that goes into a trace: CLOCK_MONOTONIC, or the virtual clock of the
 * calling thread when the process runs on the stand-in GPU stack (tests/emu), whose libcuda exports
 * emuHostClockNs(). Everything that only paces our own work uses clock_pace_ns(), which is always
 * CLOCK_MONOTONIC.
 */
#ifndef SPECTER_TRACER_CLOCK_H
#define SPECTER_TRACER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

int64_t clock_host_ns(void);
int64_t clock_pace_ns(void);
int64_t clock_real_ns(void); /* wall clock: nanoseconds since 1970 */

/* Returns whether times in the trace are the machine's own: also where a virtual clock follows it.
 */
bool clock_is_real(void);

/* Sets the clock of clock_host_ns(): `now` returns nanoseconds and never advances the clock that it
 * reads. NULL: CLOCK_MONOTONIC again. */
void clock_use(uint64_t (*now)(void));

bool clock_is_virtual(void);

#endif

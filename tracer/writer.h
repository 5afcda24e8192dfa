/* SPDX-License-Identifier: MIT
 *
 * The thread that turns records into lines: it empties the rings, asks spans for their times, keeps
 * what is not finished, and hands what is to the output. It has every signal blocked, polls at most
 * a hundred times a second, and sleeps longer while nothing happens.
 *
 * An operation that is not finished after a second is written with timing "none"; when it finishes,
 * a second line with the same id replaces the first.
 */
#ifndef SPECTER_TRACER_WRITER_H
#define SPECTER_TRACER_WRITER_H

#include "config.h"

#include <stdint.h>

/* Opens the file and starts the thread, for a trace that began at these times. 0, or -1 after a
 * warning. config: borrowed until writer_stop(). */
int writer_start(const struct config *config, int64_t mono_ns, int64_t real_ns);

/* Asks the thread to finish, and waits for it, a little over 2 s at most. The file is complete
 * then; the thread stays, for this: the closing record is corrected when more calls were lost
 * since. */
void writer_stop(int64_t end_ns);
void writer_amend(void);

void writer_wake(void); /* from any thread: something should not wait for the next poll */

void writer_reset(void); /* for the child of a fork, which has no writer */

#endif

/* SPDX-License-Identifier: MIT
 *
 * The tracer's life in a process: it wakes in the first traced call, and ends at exit. A process
 * that makes no traced call (a shell, a launcher) gets no file, no thread, nothing.
 *
 *   FRESH ── first traced call ──> STARTING ── a file is open ──> ON
 *   FRESH ── disabled, or no file ──> OFF
 *   ON ── the file cannot be written ──> LOSING
 *   ON, LOSING ── exit handler ──> ENDING ── last of all ──> OFF
 *
 * The exit handler runs before the driver's own, after which no event answers: the file is
 * complete then, with its closing record. What exit handlers, destructors and other threads call
 * afterwards is only counted, and the driver is asked nothing. When all of them have run, the
 * closing record is written once more if there was any such call.
 *
 * fork() takes the child back to FRESH: it has a file of its own, from its first traced call on.
 */
#ifndef SPECTER_TRACER_TRACER_H
#define SPECTER_TRACER_TRACER_H

#include "clock.h"
#include "config.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum tracer_state {
    TRACER_FRESH,
    TRACER_STARTING,
    TRACER_ON,
    TRACER_LOSING, /* nothing is recorded any more, only counted */
    TRACER_ENDING, /* the same, and nothing else is done beside the call */
    TRACER_OFF,
};

struct tracer {
    _Atomic int state;     /* enum tracer_state */
    _Atomic uint64_t lost; /* records not made: LOSING, ENDING, no block for the thread, ranges too
                            * deep, a full table of events */
    int64_t origin_ns;     /* init.mono_ns: times in records count from here */
    struct config config;
};

extern struct tracer tracer;

/* Returns whether calls are recorded; starts the tracer when this is the first one. */
bool tracer_start(void);

static inline bool tracer_on(void)
{
    int state = atomic_load_explicit(&tracer.state, memory_order_acquire);
    return state == TRACER_ON || (state != TRACER_OFF && tracer_start());
}

static inline int64_t tracer_now(void)
{
    return clock_host_ns() - tracer.origin_ns;
}

/* Registers the tracer's exit handler, so that it runs before all that were registered so far.
 * Called at the first traced call and again when a context is first seen: by then the driver has
 * registered its own handler, after which no event answers. */
void tracer_exit_first(void);

/* ---- which process ----
 *
 * A child of fork() is told by a handler (tracer.c); one of a bare clone() runs no handler, shares
 * nothing with us but copies of our memory, and must neither end the trace of its parent nor write
 * to its file. It is recognised by a page that the kernel clears in every child (MADV_WIPEONFORK,
 * Linux 4.14), so that no process id is asked for later: a program may by then run under a seccomp
 * filter that kills it for the question.
 *
 * A child that shares our memory (vfork(), clone() with CLONE_VM) cannot be told from us so. It may
 * only call exec or _exit() anyway, and runs none of our code there. */

/* From here on the calling process is ours; a child of fork() calls it anew. */
void process_begin(pid_t pid);

bool process_is_ours(void); /* keeps errno */
pid_t process_id(void);     /* of the one that is */

/* ---- the writer (writer.c) ----
 *
 * The thread that turns records into lines: it empties the rings, asks spans for their times, keeps
 * what is not finished, and hands what is to the output. It has every signal blocked, polls at most
 * a hundred times a second, and sleeps longer while nothing happens.
 *
 * An operation that is not finished after a second is written with timing "none"; when it finishes,
 * a second line with the same id replaces the first. */

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

/* ---- memory (memory.c) ----
 *
 * Memory that is mapped while the program runs, as it grows with what a program does. All of it
 * together has a bound, so that the tracer stays below 16 MiB whatever the program does: its static
 * tables (below 6.3 MiB) and its thread's stack are the rest. `make bench-tracer` and
 * tests/cli/tracer/memory.sh measure it where all of it is in use.
 *
 * Mapped and not allocated: a hook may be in the middle of the program's malloc(). */

#define MEMORY_MAX ((size_t)9232 << 10) /* bytes, in whole pages */

/* Zeroed memory; NULL: the system has none, or the bound is reached. For any thread; keeps errno.
 */
void *memory_map(size_t bytes);

/* `bytes`: as they were asked for. */
void memory_unmap(void *p, size_t bytes);

/* ---- the one line that the tracer may ever print to the program's stderr (warn.c) ---- */

/* Prints "specter: <parts joined>\n" on stderr, the first time in a process; later calls do
 * nothing, also where the first could not print. Silent when stderr was closed or became another
 * file since the program started (the number 2 may by now be one of its data files), or when the
 * line would have to wait for a reader. The list ends with NULL. Keeps errno. */
void warn_once(const char *part, ...) __attribute__((sentinel));

/* Allows the line again, so that a fork starts with its own. */
void warn_reset(void);

#endif

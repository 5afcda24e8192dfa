/* SPDX-License-Identifier: MIT */
#include "tracer.h"

#include "call.h"
#include "comm.h"
#include "device.h"
#include "driver.h"
#include "filter.h"
#include "loader.h"
#include "mark.h"
#include "output.h"
#include "plugin.h"
#include "threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define START_PATIENCE_NS INT64_C(1000000000)
#define START_NAP_NS 50000

/* The C library's, of the C++ ABI. */
int __cxa_atexit(void (*handler)(void *), void *arg, void *object);

struct tracer tracer;

static pthread_once_t registered = PTHREAD_ONCE_INIT;
static bool inherited; /* the tables hold what was the parent's */

/* In the child of a fork only the forking thread lives, and nothing of the tracer but its memory.
 * Most children never make a traced call, so the tables are cleared by those that do. */
static void forked(void)
{
    if (atomic_load(&tracer.state) == TRACER_FRESH)
        return;
    output_forked();
    threads_forked();
    inherited = true;
    atomic_store(&tracer.state, TRACER_FRESH);
}

static void forget_parent(void)
{
    writer_reset();
    device_reset();
    comm_reset();
    call_reset();
    mark_reset();
    plugin_reset();
    threads_reset();
    driver_reset();
    warn_reset();
    atomic_store(&tracer.lost, 0);
    inherited = false;
}

/* A process made by a bare clone() ran no fork handler: it has no writer, and the file is not its.
 * exit() may have been called within a hook, to which it does not return. */
static void at_exit(void)
{
    int state = atomic_load(&tracer.state);
    if ((state != TRACER_ON && state != TRACER_LOSING) || !process_is_ours())
        return;
    thread_depth = 0;
    atomic_store(&tracer.state, TRACER_ENDING);
    writer_stop(clock_host_ns());
}

static void at_end(void *unused)
{
    (void)unused;
    if (atomic_load(&tracer.state) != TRACER_ENDING || !process_is_ours())
        return;
    writer_amend();
    atomic_store(&tracer.state, TRACER_OFF);
}

/* The C library registers the destructors of all libraries as an exit handler, when the
 * constructors of those that came with the program have run; handlers run in reverse order. So this
 * one, of no object that could be finished before, is the last of all. */
__attribute__((constructor)) static void register_end(void)
{
    static const char *const nothing[] = {NULL};
    if (config_is_disabled(environ != NULL ? (const char *const *)environ : nothing))
        return;
    __cxa_atexit(at_end, NULL, NULL);
    loader_lock_begin();
}

static void register_handlers(void)
{
    pthread_atfork(NULL, NULL, forked);
    tracer_exit_first();
}

/* Once more does no harm: the first that runs ends the tracer. */
void tracer_exit_first(void)
{
    atexit(at_exit);
}

static int begin(void)
{
    int64_t real_ns;
    if (inherited)
        forget_parent();
    config_read(&tracer.config);
    if (tracer.config.disabled)
        return TRACER_OFF;
    process_begin((pid_t)tracer.config.pid);
    driver_ready(); /* it may bring a clock of its own */
    tracer.origin_ns = clock_host_ns();
    real_ns = clock_real_ns();
    filter_begin(&tracer.config);
    pthread_once(&registered, register_handlers);
    return writer_start(&tracer.config, tracer.origin_ns, real_ns) == 0 ? TRACER_ON : TRACER_OFF;
}

static void await_start(void)
{
    const struct timespec nap = {0, START_NAP_NS};
    int64_t begun = clock_pace_ns();
    struct signal_block blocked;
    signal_block_begin(&blocked); /* nanosleep() is a cancellation point */
    while (atomic_load(&tracer.state) == TRACER_STARTING &&
           clock_pace_ns() - begun < START_PATIENCE_NS)
        nanosleep(&nap, NULL);
    signal_block_end(&blocked);
}

bool tracer_start(void)
{
    int saved = errno, state = TRACER_FRESH;
    if (atomic_compare_exchange_strong(&tracer.state, &state, TRACER_STARTING)) {
        struct signal_block blocked;
        signal_block_begin(&blocked);
        thread_depth++;
        atomic_store(&tracer.state, begin());
        thread_depth--;
        signal_block_end(&blocked);
    } else if (state == TRACER_STARTING) {
        await_start();
    }
    errno = saved;
    state = atomic_load(&tracer.state);
    return state == TRACER_ON || state == TRACER_LOSING || state == TRACER_ENDING;
}

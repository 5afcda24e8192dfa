/* SPDX-License-Identifier: MIT
 *
 * Holds the program's signals off the calling thread, and cancellation of it, while the tracer does
 * what must not be left half-done: a handler that jumped out of the dynamic loader would leave it
 * locked for good.
 *
 *     struct hold hold;
 *     hold_begin(&hold);
 *     ...
 *     hold_end(&hold);
 *
 * Costs two system calls: for what happens once, not once a call.
 */
#ifndef SPECTER_TRACER_HOLD_H
#define SPECTER_TRACER_HOLD_H

#include <pthread.h>
#include <signal.h>

struct hold {
    sigset_t signals; /* as the program left them */
    int cancel_state;
};

static inline void hold_begin(struct hold *h)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &h->signals);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &h->cancel_state);
}

static inline void hold_end(const struct hold *h)
{
    int disabled;
    pthread_setcancelstate(h->cancel_state, &disabled);
    pthread_sigmask(SIG_SETMASK, &h->signals, NULL);
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * Blocks the signals of the calling thread, and its cancellation, while the tracer does what must
 * not be interrupted: a handler that jumped out of the dynamic loader would leave it locked.
 *
 *     struct signal_block blocked;
 *     signal_block_begin(&blocked);
 *     ...
 *     signal_block_end(&blocked);
 *
 * It costs two system calls, so it is for what happens once, not once a traced call.
 */
#ifndef SPECTER_TRACER_SIGNAL_BLOCK_H
#define SPECTER_TRACER_SIGNAL_BLOCK_H

#include <pthread.h>
#include <signal.h>

struct signal_block {
    sigset_t signals; /* as the program left them */
    int cancel_state;
};

static inline void signal_block_begin(struct signal_block *h)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &h->signals);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &h->cancel_state);
}

static inline void signal_block_end(const struct signal_block *h)
{
    int disabled;
    pthread_setcancelstate(h->cancel_state, &disabled);
    pthread_sigmask(SIG_SETMASK, &h->signals, NULL);
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * A cache of what resolve() found. The key is a hook's id and an address: the caller's, or of an
 * object its dynamic section, or a function of the same library (resolve.c). Lock-free; where all
 * slots in reach are taken the newest entry replaces another, which is looked up again.
 *
 * An answer holds until a library has been unloaded (dlsym.c): the place may then be another
 * object's, and the function gone. A new generation drops all of them. While destructors run they
 * hold: a thread that one of them waits for may be about to call.
 */
#ifndef SPECTER_TRACER_ANSWERS_H
#define SPECTER_TRACER_ANSWERS_H

#include "hooks.h"

#include <stdatomic.h>
#include <stdint.h>

typedef void (*function)(void);

/* The generation of answers that holds now: to be read before what an answer follows from. */
extern _Atomic uint32_t answers_generation;

/* The answer for the place, NULL: none is kept. */
function answers_get(enum hook_id id, const void *place);

/* Keeps an answer that was found while `generation` held. */
void answers_put(enum hook_id id, const void *place, function real, uint32_t generation);

/* Drops all answers. */
void answers_drop(void);

#endif

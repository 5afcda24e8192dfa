/* SPDX-License-Identifier: MIT
 *
 * Finding the real function behind a hook: the one that the loader would have bound the call to,
 * had the tracer not been there.
 *
 * That one depends on the object that calls: its own definition, the global scope, the
 * scope of the dlopen() that brought it, the version that its reference asks for. Only the loader
 * knows all of this, so for each place that calls:
 *
 *   one loaded object defines the function, and it   that one: a reference that is bound at all is
 *   stays as long as the caller                      bound to it
 *   the caller refers to the function, or defines    what the loader answers the caller
 *   it                                               (loader.h); for a reference that was bound
 *                                                    when the caller was loaded, nothing that came
 *                                                    by a later dlopen()
 *   another object has left for the function by a    what those are bound to that do refer to it,
 *   jump, or has passed its address to the caller    as far as objects.h tells
 *
 * A pointer that the program got from dlsym() is different: it belongs to one library, whichever
 * object calls. It leads to an entry (dlsym.c) that says which before it goes on to the wrapper.
 *
 * Nothing is loaded, and resolve_library() alone keeps a library from being unloaded. Our own
 * functions are never the answer. Answers are kept per (function, calling place) until a library is
 * unloaded, and per (function, object) where the object refers to the function: all of its places
 * are bound together.
 */
#ifndef SPECTER_TRACER_RESOLVE_H
#define SPECTER_TRACER_RESOLVE_H

#include "hooks.h"
#include "objects.h"

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The real function for a call from `caller` (a return address). NULL: there is none; a warning was
 * given. Lock-free after the first call from a place that found one. */
function resolve(enum hook_id id, const void *caller);

/* Copies of one function that pointers can tell apart. The entries' code, dlsym_entry.S, has as
 * many. */
#define RESOLVE_ENTRIES 4

/* The entry of hook `id` that stands for this real function; -1: all are taken by others. */
int resolve_entry(enum hook_id id, function real);

/* Left by an entry for the resolve() of the wrapper after it: 1 + id * RESOLVE_ENTRIES + entry. */
extern __thread uint32_t resolve_entered __attribute__((tls_model("initial-exec")));

/* The function of hook `id` in the library that holds `neighbour`; where that library has none, the
 * one that a call from there would reach. NULL: there is none. */
function resolve_beside(enum hook_id id, function neighbour);

/* The function in whatever copy is loaded, or NULL; for what is asked once. */
function resolve_any(enum hook_id id);

/* Finds what a search by name that ended at our wrapper would have found without it: in the global
 * scope after us, or also in the scope of the caller's own object. NULL with dlerror() saying so.
 */
void *resolve_behind_us(enum hook_id id, bool in_all_scopes, const void *caller);

/* Returns whether a library of such a file name is loaded. */
bool resolve_is_loaded(const char *stem);

/* A handle of such a library, or NULL. The library then stays loaded: for the driver, whose
 * functions the tracer calls in a thread of its own. Between pending_begin() and pending_end(). */
void *resolve_library(const char *stem);

/* A library has been unloaded: all answers are dropped, and what is gone is forgotten. */
void resolve_unloaded(void);

/* Returns whether a call went to the object with this dynamic section. Reliable for the first 32
 * objects that were called. */
bool resolve_was_called(const ElfW(Dyn) * dynamic);

extern const char *const resolve_stems[LIB_COUNT];

/* libnccl.so.2, libnccl.so, and libnccl-1a2b3c4d.so.2 as wheels rename it, for stem "libnccl"; not
 * libnccl-net.so. `stem` may be several, with | between them. */
bool resolve_is_library(const char *path, const char *stem);

/* Returns whether what was found for a hook is in a library of the hook's own name, and not in
 * another one that has a function of this name. Lock-free for what was asked before. */
bool resolve_is_own(enum hook_id id, function real);

/* ---- answers ----
 *
 * A cache of what resolve() found. The key is a hook's id and an address: the caller's, or of an
 * object its dynamic section, or a function of the same library (resolve.c). Lock-free; where all
 * slots in reach are taken the newest entry replaces another, which is looked up again.
 *
 * An answer holds until a library has been unloaded: the place may then be another object's, and
 * the function gone. A new generation drops all of them. While destructors run they hold: a thread
 * that one of them waits for may be about to call. Public for tests alone. */

/* The generation of answers that holds now: to be read before what an answer follows from. */
extern _Atomic uint32_t answers_generation;

/* The answer for the place, NULL: none is kept. */
function answers_get(enum hook_id id, const void *place);

/* Keeps an answer that was found while `generation` held. */
void answers_put(enum hook_id id, const void *place, function real, uint32_t generation);

#endif

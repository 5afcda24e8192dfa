/* SPDX-License-Identifier: MIT
 *
 * Finding the real function behind a hook.
 *
 * dlsym(RTLD_NEXT) is not enough: it is NULL when the library came in by dlopen(RTLD_LOCAL), as
 * every Python extension brings it, and it knows one copy where a process may hold two versions.
 * So, for each place that calls:
 *
 *   one loaded library has the file name  RTLD_NEXT, which keeps other preloads in the chain; else
 *                                         that library
 *   several have it                       the one that is the caller itself or that the caller's
 *                                         object needs (DT_NEEDED); else RTLD_NEXT, else the first
 *   none has it                           RTLD_NEXT, else the caller's own object (linked into it)
 *
 * A pointer that the program got from dlsym() is different: it belongs to one library, whoever
 * calls. It leads to an entry (dlsym.c) that says which before it goes on to the wrapper.
 *
 * Nothing is ever loaded: libraries are reopened with RTLD_NOLOAD. Our own functions are never the
 * answer. Answers are kept per (function, calling place), because the right library depends on the
 * caller and a library loaded later brings callers of its own.
 */
#ifndef SPECTER_TRACER_RESOLVE_H
#define SPECTER_TRACER_RESOLVE_H

#include "hooks.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

typedef void (*function)(void);

/* The real function for a call from `caller` (a return address). NULL: there is none; a warning was
 * given. Lock-free after the first call from a place. */
function resolve(enum hook_id id, const void *caller);

/* Copies of one function that pointers can tell apart. The entries' code, dlsym_entry.S, has as
 * many. */
#define RESOLVE_ENTRIES 4

/* The entry of hook `id` that stands for this real function; -1: all are taken by others. */
int resolve_entry(enum hook_id id, function real);

/* Left by an entry for the resolve() of the wrapper behind it: 1 + id * RESOLVE_ENTRIES + entry. */
extern __thread uint32_t resolve_entered __attribute__((tls_model("initial-exec")));

/* The function of that name in the library that holds `neighbour`, or NULL. */
function resolve_beside(enum hook_id id, function neighbour);

/* The function in whatever copy is loaded, or NULL; for what is asked once. */
function resolve_any(enum hook_id id);

/* A handle of a loaded library whose file name starts with `stem`, or NULL. */
void *resolve_library(const char *stem);

/* Has a call gone to the object with this dynamic section? Of the first few objects, surely. */
bool resolve_was_called(const ElfW(Dyn) * dynamic);

extern const char *const resolve_stems[LIB_COUNT];

/* libnccl.so.2, libnccl.so, and libnccl-1a2b3c4d.so.2 as wheels rename it, for stem "libnccl"; not
 * libnccl-net.so. `stem` may be several, with | between them. */
bool resolve_is_library(const char *path, const char *stem);

/* Whether what was found for a hook is in a library of the hook's own name, and not in another one
 * that has a function of this name. Lock-free for what was asked before. */
bool resolve_is_own(enum hook_id id, function real);

#endif

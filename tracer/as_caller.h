/* SPDX-License-Identifier: MIT
 *
 * Asking the dynamic loader in the name of another object.
 *
 * dlsym(RTLD_DEFAULT) searches the scope of the object that calls it, RTLD_NEXT searches after
 * that object, and the loader tells the caller by the return address. The scope of an object is
 * known to the loader alone: the global scope, then that of each dlopen() that brought the object.
 * So the question is asked with a return address inside the object: that of a `ret` instruction
 * there, from which the call comes back to us (as_caller_jump.S).
 *
 * The loader's answer is what it would have bound a reference of the object to, and it notes that
 * the object now depends on the library that holds it, as it does for a reference: the library
 * stays loaded as long as the object, and no longer.
 */
#ifndef SPECTER_TRACER_AS_CALLER_H
#define SPECTER_TRACER_AS_CALLER_H

#ifndef __ASSEMBLER__

#include "real_dlsym.h"

#include <stdbool.h>

/* Asks `loader` for dlsym(handle, name), or for dlvsym(handle, name, version) where a version is
 * given, as the object that holds the code at `code`, NULL for the program itself. Puts the answer
 * into *found, NULL for none, and returns true. Returns false, and asks nothing, where the object
 * has no `ret` that serves, or the thread has a shadow stack, which allows a return to its caller
 * only. The code must stay loaded meanwhile: it is a place that a call has come from or is going
 * to. */
bool as_caller_ask(const struct dl_functions *loader, const void *code, void *handle,
                   const char *name, const char *version, void **found);

#endif
#endif

/* SPDX-License-Identifier: MIT
 *
 * dlsym() and dlvsym() in front of the loader's, so that calls are seen of programs that fetch
 * their functions by name: ctypes, CuPy, JAX, cuDNN.
 *
 * The exported two are assembly (dlsym_entry.S), because the loader looks at the return address:
 * they save the arguments, ask dlsym_answer() below, and unless that has the answer jump to the
 * next implementation as if they had not been there. RTLD_NEXT and RTLD_DEFAULT thus mean what they
 * mean for the caller; for a name of the hook table they are asked in its name (loader.h).
 *
 * The answer is ours only where the loader's lies in a library of the hook table. It is then an
 * entry, a few instructions in dlsym_entry.S that note for which copy of the library it stands and
 * go on to the wrapper (resolve.h). SPECTER_NO_DLSYM=1 switches all of this off. A preload in
 * front of ours that answers dlsym() itself and goes straight to libc takes it away.
 *
 * dlclose() and dlerror() are ours, too: what was found out about a library does not outlive it,
 * and an error that waits for the program is kept (loader.h).
 *
 * cuGetProcAddress() in front of the driver's. A static CUDA runtime, which cuDNN, cuFFT, cuSPARSE,
 * and whatever nvcc links by default carry within them, asks dlsym() for this one function and
 * this one for all others, so a preload sees nothing else of what such a library launches.
 *
 * The driver is asked with the arguments as they are. Where hooks/lookups.def has a hook for what
 * it gave, the program gets an entry as above that stands for exactly that pointer, in the place
 * of the pointer; else the pointer. Nothing is recorded, started or allocated here: programs ask
 * before they initialise CUDA, and may fork after it.
 *
 * Libraries that are recorded by their own calls get the driver's pointers; they are known by the
 * file name of the object that asks: NCCL, whose threads launch kernels outside every call, cuBLAS,
 * a CUDA runtime of its own, and CUPTI. SPECTER_NO_DLSYM switches all of this off,
 * SPECTER_NO_LAUNCHES, _COPIES and _GRAPHS what each leaves out.
 */
#ifndef SPECTER_TRACER_DLSYM_H
#define SPECTER_TRACER_DLSYM_H

/* With other C libraries, whose loaders have other rules, and on other processors the two names are
 * left alone. */
#include <features.h>
#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
#define TRACER_HAS_DLSYM 1
#endif

#define DLSYM_ENTRY_BYTES 16 /* of code, each */
#define DLSYM_TAIL_BYTES 32  /* after the entries of one hook: the way to its wrapper */

#if !defined(__ASSEMBLER__) && defined(TRACER_HAS_DLSYM)

#include "hooks.h"

struct dlsym_answer {
    void *found; /* what the program gets, when go_on is NULL */
    void *go_on; /* else: what is to answer instead */
};

/* version: NULL for dlsym(). caller: the return address. */
struct dlsym_answer dlsym_answer(void *handle, const char *name, const char *version,
                                 const void *caller);

/* The entry of a hook that stands for this function; NULL: it is in no library that the hook is
 * for, or others have taken all. */
void *dlsym_entry(enum hook_id id, void *found);

extern const char
    dlsym_entries[]; /* dlsym_entry.S: hook by hook, RESOLVE_ENTRIES and a tail each */

#endif

#ifndef __ASSEMBLER__

#include "record.h"

#include <stdbool.h>

/* Returns whether programs get hooks for the functions that leave records of this kind. */
bool lookup_wants(enum record_kind kind);

#endif
#endif

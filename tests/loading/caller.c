/* SPDX-License-Identifier: MIT
 *
 * An object that calls: a program, a plugin or a helper library. It has linked references to the
 * functions of the groups it is compiled with, and has an entry,
 * which build.sh exports as entry_<name>.
 *
 * -DWEAK: the references are weak. -DADDRESSES: it takes their addresses (and ld then binds them
 * when the object is loaded, not at the first call). -DCALLS_EARLY: it calls in its constructor and
 * destructor. -DJUMPS: it leaves for the functions by a jump, as a wrapper function does that ends
 * with the call.
 */
#include "loading.h"

#include <errno.h>
#include <string.h>

static void *communicator;
static float buffer[16] = {1};

/* A call that a function ends with is a jump, which leaves no return address of its own. */
#ifdef JUMPS
#define RETURN(_call) return _call
#else
#define RETURN(_call)                \
    do {                             \
        volatile int result = _call; \
        return result;               \
    } while (0)
#endif

/* References only to the groups that were asked for; calls by pointer to all functions. */
#ifdef WEAK
#define REFERENCE __attribute__((weak))
#define ADDRESSES
#else
#define REFERENCE
#endif
#define F(_group, _name, _params, _names, _args, _comm) \
    REFERENCE int _name _params;                        \
    static int call_##_name(void)                       \
    {                                                   \
        RETURN(_name _args);                            \
    }
#include "functions.def"

static const struct {
    const char *name;
    int (*call)(void);
    void *address;
} references[] = {
#ifdef ADDRESSES
#define F(_group, _name, _params, _names, _args, _comm) {#_name, call_##_name, (void *)_name},
#else
#define F(_group, _name, _params, _names, _args, _comm) {#_name, call_##_name, NULL},
#endif
#include "functions.def"
    {"", NULL, NULL},
};

#undef NCCL
#define NCCL
#undef CUDART
#define CUDART
#undef CUDA
#define CUDA
#undef CUBLAS
#define CUBLAS
#define F(_group, _name, _params, _names, _args, _comm) \
    static int point_##_name(void *pointer)             \
    {                                                   \
        return ((int(*) _params)pointer)_args;          \
    }
#include "functions.def"

static const struct {
    const char *name;
    int (*call)(void *pointer);
} pointers[] = {
#define F(_group, _name, _params, _names, _args, _comm) {#_name, point_##_name},
#include "functions.def"
};

static int call(const char *function)
{
    for (size_t i = 0; references[i].call != NULL; i++) {
        if (strcmp(references[i].name, function) == 0) {
            errno = 77; /* which a call must leave alone */
            return references[i].call();
        }
    }
    return -1;
}

static void *address(const char *function)
{
    for (size_t i = 0; references[i].call != NULL; i++) {
        if (strcmp(references[i].name, function) == 0)
            return references[i].address;
    }
    return NULL;
}

static int call_pointer(const char *function, void *pointer)
{
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
        if (strcmp(pointers[i].name, function) == 0) {
            errno = 77;
            return pointers[i].call(pointer);
        }
    }
    return -1;
}

/* Not tail calls: the loader takes the return address for the caller. */
static void *look(void *handle, const char *function, const char *version)
{
    void *volatile found =
        version == NULL ? dlsym(handle, function) : dlvsym(handle, function, version);
    return found;
}

const struct entry entry = {own_path, call, address, call_pointer, look};

TELL_LIFE

#ifdef CALLS_EARLY
__attribute__((constructor)) static void call_first(void)
{
    ncclGroupStart();
}
__attribute__((destructor)) static void call_last(void)
{
    ncclGroupEnd();
}
#endif

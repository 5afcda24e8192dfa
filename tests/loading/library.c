/* SPDX-License-Identifier: MIT
 *
 * A stand-in library: defines the functions of the groups it is compiled with (-DNCCL, -DCUDART
 * ...). Each tells on stdout which library answered and whose communicator it was given.
 *
 * -DPASS_ON: a preload that then calls the next definition. -DPROTECTED: protected visibility.
 */
#include "loading.h"

#include <errno.h>
#include <stdlib.h>

#ifdef PROTECTED
#pragma GCC visibility push(protected)
#endif

struct communicator {
    const char *owner;
};

#ifdef NCCL
static void *make_communicator(void **comm)
{
#ifndef PASS_ON
    struct communicator *made = malloc(sizeof *made);
    if (made != NULL)
        made->owner = own_path();
    *comm = made;
#else
    *comm = NULL;
#endif
    return *comm;
}
#endif

static void answer(const char *function, const struct communicator *comm)
{
    int saved = errno;
    if (comm != NULL)
        dprintf(1, "  %s of %s, communicator of %s\n", function, own_path(), comm->owner);
    else
        dprintf(1, "  %s of %s\n", function, own_path());
    errno = saved;
}

#ifdef PASS_ON
#define REST(_name, _params, _names)                               \
    int(*next) _params = (int(*) _params)dlsym(RTLD_NEXT, #_name); \
    if (next != NULL)                                              \
        return next _names;                                        \
    dprintf(1, "  nothing is behind %s\n", own_path());
#else
#define REST(_name, _params, _names)
#endif

#define F(_group, _name, _params, _names, _args, _comm) \
    int _name _params;                                  \
    int _name _params                                   \
    {                                                   \
        answer(#_name, _comm);                          \
        REST(_name, _params, _names)                    \
        return 0;                                       \
    }
#include "functions.def"

#if defined NCCL && !defined PASS_ON
/* Questions of the tracer about a communicator: it must ask the library that made it. */
#define GETTER(_name, _value)                                                                \
    int _name(const struct communicator *comm, int *value);                                  \
    int _name(const struct communicator *comm, int *value)                                   \
    {                                                                                        \
        if (comm != NULL && comm->owner != own_path())                                       \
            dprintf(1, "  %s of %s, communicator of %s\n", #_name, own_path(), comm->owner); \
        *value = _value;                                                                     \
        return 0;                                                                            \
    }
GETTER(ncclCommCount, 1)
GETTER(ncclCommUserRank, 0)
GETTER(ncclCommCuDevice, 0)
#endif

#if defined CUBLAS
int cublasGetStream_v2(void *handle, void **stream);
int cublasGetStream_v2(void *handle, void **stream)
{
    *stream = NULL;
    return 0;
}
#endif

#ifndef LIFE_IN_CALLER
TELL_LIFE
#endif

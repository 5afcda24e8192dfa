/* SPDX-License-Identifier: MIT
 *
 * cuGetProcAddress(): a program that asks the driver for a function gets its hook, as far as
 * settings want such records.
 */
#include "hooks/cuda_types.h"

#include "config.h"
#include "dlsym.h"
#include "loader.h"
#include "resolve.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* ---- what is wanted ---- */

/* As the settings say: read without the tracer's configuration, which begins with a traced call. */
static bool is_set(const char *variable)
{
    const char *text = config_variable((const char *const *)environ, variable);
    struct setting_value v;
    return text != NULL && setting_parse(SETTING_FLAG, text, &v) && v.number != 0;
}

enum { SETTINGS_READ = 1, OFF = 2, NO_LAUNCHES = 4, NO_COPIES = 8, NO_GRAPHS = 16 };

static unsigned read_settings(void)
{
    unsigned found = SETTINGS_READ;
    if (getauxval(AT_SECURE) != 0 || environ == NULL)
        return SETTINGS_READ | OFF;
    if (config_is_disabled((const char *const *)environ) || is_set("SPECTER_NO_DLSYM"))
        found |= OFF;
    found |= is_set("SPECTER_NO_LAUNCHES") ? NO_LAUNCHES : 0;
    found |= is_set("SPECTER_NO_COPIES") ? NO_COPIES : 0;
    found |= is_set("SPECTER_NO_GRAPHS") ? NO_GRAPHS : 0;
    return found;
}

static bool is_wanted(int kind)
{
    static _Atomic unsigned known;
    unsigned off = atomic_load_explicit(&known, memory_order_relaxed), by = OFF;
    if (off == 0) {
        off = read_settings();
        atomic_store_explicit(&known, off, memory_order_relaxed);
    }
    by |= kind == RECORD_LAUNCH ? NO_LAUNCHES : 0;
    by |= kind == RECORD_COPY ? NO_COPIES : 0;
    by |= kind == RECORD_GRAPH ? NO_GRAPHS : 0;
    return (off & by) == 0;
}

bool lookup_wants(enum record_kind kind)
{
#ifdef TRACER_HAS_DLSYM
    return is_wanted((int)kind);
#else
    (void)kind;
    return false;
#endif
}

/* ---- one lookup ---- */

struct lookup {
    function real;
    bool is_v2;
    const char *symbol;
    cuuint64_t flags;
    CUdriverProcAddressQueryResult *status; /* _v2 */
};

static CUresult ask(const struct lookup *l, void **found, int version)
{
    CUresult (*v2)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *) =
        (CUresult(*)(const char *, void **, int, cuuint64_t,
                     CUdriverProcAddressQueryResult *))l->real;
    CUresult (*v1)(const char *, void **, int, cuuint64_t) =
        (CUresult(*)(const char *, void **, int, cuuint64_t))l->real;
    return l->is_v2 ? v2(l->symbol, found, version, l->flags, l->status)
                    : v1(l->symbol, found, version, l->flags);
}

#ifdef TRACER_HAS_DLSYM

/* The newest CUDA that the table was held against. */
#define KNOWN_VERSION 13000
#define NEVER INT_MAX

/* The flags of cuGetProcAddress: since CUDA 11.3, and not in every header. */
enum { FLAGS_DEFAULT = 0, FLAGS_LEGACY = 1, FLAGS_PER_THREAD = 2 };

static const struct row {
    const char *symbol;
    struct {
        int since;
        enum hook_id hook;
    } of[2]; /* by the default stream: the legacy one, the thread's own */
} rows[] = {
#define LOOKUP(_symbol, _since, _hook, _since_ptsz, _hook_ptsz) \
    {#_symbol, {{_since, HOOK_##_hook}, {_since_ptsz, HOOK_##_hook_ptsz}}},
#include "hooks/lookups.def"
};

/* HOOK_COUNT: none. */
static enum hook_id hook_of(const struct lookup *l, int version)
{
    size_t per_thread = l->flags == FLAGS_PER_THREAD;
    enum hook_id found = HOOK_COUNT;
    if (l->flags > FLAGS_PER_THREAD)
        return HOOK_COUNT;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].of[per_thread].since <= version && strcmp(rows[i].symbol, l->symbol) == 0)
            found = rows[i].of[per_thread].hook;
    }
    return found;
}

/* A version newer than the table may mean another interface: then it is another function. */
static bool is_known(const struct lookup *l, const void *found, int version)
{
    CUdriverProcAddressQueryResult status;
    struct lookup again = *l;
    void *known = NULL;
    again.status = &status;
    return version <= KNOWN_VERSION ||
           (ask(&again, &known, KNOWN_VERSION) == CUDA_SUCCESS && known == found);
}

static bool is_left_out(const void *caller)
{
    const struct link_map *object = object_of(caller);
    return object == NULL ||
           resolve_is_library(object->l_name,
                              "libnccl|librccl|libcublas|libcublasLt|libcudart|libcupti|libcuda");
}

/* Returns the pointer that the program gets for the one that the driver gave. */
static void *answer(const struct lookup *l, void *found, int version, const void *caller)
{
    enum hook_id hook = hook_of(l, version);
    void *entry = NULL;
    struct signal_block blocked;
    if (hook == HOOK_COUNT || !is_wanted(function_names[hook].record) ||
        !is_known(l, found, version))
        return found;
    signal_block_begin(&blocked);
    pending_begin();
    if (!is_left_out(caller))
        entry = dlsym_entry(hook, found);
    pending_end();
    signal_block_end(&blocked);
    return entry != NULL ? entry : found;
}

#else

static void *answer(const struct lookup *l, void *found, int version, const void *caller)
{
    (void)l, (void)version, (void)caller;
    return found;
}

#endif

static CUresult look_up(struct lookup *l, void **found, int version, const void *caller)
{
    CUresult result = l->real != NULL ? ask(l, found, version) : CUDA_ERROR_UNKNOWN;
    int saved = errno;
    if (result == CUDA_SUCCESS && l->symbol != NULL && found != NULL && *found != NULL)
        *found = answer(l, *found, version, caller);
    errno = saved;
    return result;
}

/* ---- the functions: HOOK_BY_HAND in hooks/cuda.def ---- */

#define HOOK(...)
#define HOOK_BY_HAND(_lib, _ret, _fn, _params, _args, _record) \
    EXPORT_VISIBILITY(_lib) _ret _fn _params;
#include "hooks.def"

CUresult cuGetProcAddress(const char *symbol, void **found, int version, cuuint64_t flags)
{
    const void *caller = __builtin_return_address(0);
    struct lookup l = {resolve(HOOK_cuGetProcAddress, caller), false, symbol, flags, NULL};
    return look_up(&l, found, version, caller);
}

CUresult cuGetProcAddress_v2(const char *symbol, void **found, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
    const void *caller = __builtin_return_address(0);
    struct lookup l = {resolve(HOOK_cuGetProcAddress_v2, caller), true, symbol, flags, status};
    return look_up(&l, found, version, caller);
}

#define HOOK(...)
#define HOOK_BY_HAND(_lib, _ret, _fn, _params, _args, _record) EXPORT_HOOK(_lib, _fn)
#include "hooks.def"

/* SPDX-License-Identifier: MIT */
#include "dlsym.h"

#include "hooks/cublas.h"
#include "hooks/cuda.h"
#include "hooks/nccl.h"
#include "elf.h"
#include "real.h"
#include "resolve.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#ifdef TRACER_HAS_DLSYM

/* The hooks in the order of their names; the file is made from hooks.def. */
static const uint16_t by_name[] = {
#define SORTED(_fn) HOOK_##_fn,
#include "hooks_sorted.h"
};

enum { UNKNOWN, WANTED, UNWANTED };

/* The words of a SETTING_FLAG; setting_parse() itself calls what a sanitizer looks at. */
static bool switches_off(const char *variable)
{
    static const char *const words[] = {"SPECTER_NO_DLSYM=1", "SPECTER_NO_DLSYM=yes",
                                        "SPECTER_NO_DLSYM=on", "SPECTER_NO_DLSYM=true"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (elf_compare(variable, words[i]) == 0)
            return true;
    }
    return false;
}

/* Without getenv(), which another thread's setenv() may be moving under us. The environment is not
 * there yet when a constructor in front of libc's calls: then we look again. */
static int read_switch(void)
{
    if (getauxval(AT_SECURE) != 0)
        return UNWANTED;
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        if (switches_off(*e))
            return UNWANTED;
    }
    return environ != NULL ? WANTED : UNKNOWN;
}

static bool is_wanted(void)
{
    static _Atomic int known = UNKNOWN;
    int wanted = atomic_load_explicit(&known, memory_order_relaxed);
    if (wanted == UNKNOWN) {
        wanted = read_switch();
        atomic_store_explicit(&known, wanted, memory_order_relaxed);
    }
    return wanted != UNWANTED;
}

/* NULL: not a name of the table. */
static const uint16_t *hook_of(const char *name)
{
    size_t from = 0, to = sizeof by_name / sizeof *by_name;
    while (name != NULL && from < to) {
        size_t middle = (from + to) / 2;
        int order = elf_compare(name, function_names[by_name[middle]].name);
        if (order == 0)
            return &by_name[middle];
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return NULL;
}

static void *ask(const struct loader *loader, void *handle, const char *name, const char *version)
{
    if (version == NULL)
        return loader->sym != NULL ? loader->sym(handle, name) : NULL;
    return loader->vsym != NULL ? loader->vsym(handle, name, version) : NULL;
}

/* What the search that ended at our wrapper would have found without us: something behind us in the
 * global scope, else, for RTLD_DEFAULT, in the scope of the caller's own object. NULL with
 * dlerror() saying so. */
static void *without_us(void *handle, const char *name, const void *caller)
{
    void *found = real_dlsym(RTLD_NEXT, name), *opened = NULL;
    const struct link_map *object = object_of(caller);
    if (found != NULL || handle != RTLD_DEFAULT || object == NULL || object->l_name[0] == '\0')
        return found;
    opened = dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (opened == NULL)
        return NULL;
    found = real_dlsym(opened, name);
    dlclose(opened);
    if (found == NULL)
        real_dlsym(RTLD_NEXT, name); /* the message, once more */
    return found;
}

/* Is this, of the loader's own namespace, a library that the hook is for? */
static bool is_hooked_library(enum hook_id id, const struct link_map *object)
{
    Lmid_t space = LM_ID_BASE;
    if (object == NULL ||
        !resolve_is_library(object->l_name, resolve_stems[function_names[id].lib]))
        return false;
    return dlinfo((void *)object, RTLD_DI_LMID, &space) == 0 && space == LM_ID_BASE;
}

void *dlsym_entry(enum hook_id id, void *found)
{
    function real;
    int entry;
    if (!is_hooked_library(id, object_of(found)))
        return NULL;
    memcpy(&real, &found, sizeof real);
    entry = resolve_entry(id, real);
    return entry < 0
               ? NULL
               : (void *)(dlsym_entries +
                          (size_t)id * (RESOLVE_ENTRIES * DLSYM_ENTRY_BYTES + DLSYM_TAIL_BYTES) +
                          (size_t)entry * DLSYM_ENTRY_BYTES);
}

/* ... for a name of the table; go_on: what answers when nothing is to be changed. */
static struct dlsym_answer answer_hook(enum hook_id id, void *found, void *handle, const char *name,
                                       const void *caller, void *go_on)
{
    bool ours = found != NULL && object_of(found) == own_object();
    void *real = ours ? without_us(handle, name, caller) : found, *entry = NULL;
    if (real == NULL)
        return (struct dlsym_answer){NULL, ours ? NULL : go_on};
    entry = dlsym_entry(id, real);
    return (struct dlsym_answer){entry, entry != NULL ? NULL : go_on};
}

/* Would a search behind the caller end at our wrapper, and find nothing without us? Only from an
 * object in front of us, with no such function between: objects that were there at the start are
 * searched in the order of the loader's list. */
static bool next_is_only_ours(const char *name, const void *caller)
{
    const struct link_map *object = object_of(caller), *own = own_object();
    for (object = object != NULL ? object->l_next : NULL; object != own; object = object->l_next) {
        if (object == NULL || elf_function(object, name) != NULL)
            return false;
    }
    return real_dlsym(RTLD_NEXT, name) == NULL;
}

struct dlsym_answer dlsym_answer(void *handle, const char *name, const char *version,
                                 const void *caller)
{
    struct loader next = next_loader();
    void *go_on = version == NULL ? (void *)(uintptr_t)next.sym : (void *)(uintptr_t)next.vsym;
    struct dlsym_answer answer = {NULL, go_on};
    const uint16_t *id = is_wanted() ? hook_of(name) : NULL;
    int saved = errno;
    if (id == NULL)
        return answer;
    if (handle != RTLD_NEXT)
        answer = answer_hook((enum hook_id) * id, ask(&next, handle, name, version), handle, name,
                             caller, go_on);
    else if (version == NULL && next_is_only_ours(name, caller))
        answer.go_on = NULL;
    errno = saved;
    return answer;
}

#endif

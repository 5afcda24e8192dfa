/* SPDX-License-Identifier: MIT */
#include "dlsym.h"

#include "hooks/calls.h"
#include "loader.h"
#include "objects.h"
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

enum { UNKNOWN, ENTRIES, NO_ENTRIES, NO_HOOKS };

/* A variable and the words of a SETTING_FLAG; setting_parse() itself calls what a sanitizer looks
 * at. */
static bool is_set(const char *variable, const char *name)
{
    static const char *const words[] = {"1", "yes", "on", "true"};
    while (*name != '\0' && *variable == *name) {
        variable++;
        name++;
    }
    if (*name != '\0' || *variable++ != '=')
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (elf_compare(variable, words[i]) == 0)
            return true;
    }
    return false;
}

/* Without getenv(), which another thread's setenv() may be moving under us. The environment is not
 * there yet when a constructor in front of libc's calls: then it is read again. */
static int read_switches(void)
{
    int wanted = environ != NULL ? ENTRIES : UNKNOWN;
    if (getauxval(AT_SECURE) != 0)
        return NO_HOOKS;
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        if (is_set(*e, "SPECTER_DISABLE"))
            return NO_HOOKS;
        if (is_set(*e, "SPECTER_NO_DLSYM"))
            wanted = NO_ENTRIES;
    }
    return wanted;
}

/* ENTRIES, or what of a program's lookups the settings leave to us: with SPECTER_NO_DLSYM only that
 * none ends at our wrappers. */
static int what_is_wanted(void)
{
    static _Atomic int known = UNKNOWN;
    int wanted = atomic_load_explicit(&known, memory_order_relaxed);
    if (wanted == UNKNOWN) {
        wanted = read_switches();
        atomic_store_explicit(&known, wanted, memory_order_relaxed);
    }
    return wanted;
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

/* Returns whether this object, of the loader's own namespace, is a library that the hook is for. */
static bool is_hooked_library(enum hook_id id, const struct link_map *object)
{
    Lmid_t space = LM_ID_BASE;
    if (object == NULL ||
        !resolve_is_library(object->l_name, resolve_stems[function_names[id].lib]))
        return false;
    return dlinfo((void *)object, RTLD_DI_LMID, &space) == 0 && space == LM_ID_BASE;
}

static void *entry_for(enum hook_id id, void *found)
{
    function real;
    int entry;
    memcpy(&real, &found, sizeof real);
    entry = resolve_entry(id, real);
    return entry < 0
               ? NULL
               : (void *)(dlsym_entries +
                          (size_t)id * (RESOLVE_ENTRIES * DLSYM_ENTRY_BYTES + DLSYM_TAIL_BYTES) +
                          (size_t)entry * DLSYM_ENTRY_BYTES);
}

void *dlsym_entry(enum hook_id id, void *found)
{
    return is_hooked_library(id, object_of(found)) ? entry_for(id, found) : NULL;
}

/* Asks in the name of the caller. False: that cannot be done, and the handle means another thing
 * for each object. */
static bool ask(const struct dl_functions *next, void *handle, const char *name,
                const char *version, const void *caller, void **found)
{
    struct signal_block blocked;
    bool asked;
    signal_block_begin(&blocked); /* a handler would see a return address of no call */
    asked = as_caller_ask(next, caller, handle, name, version, found);
    signal_block_end(&blocked);
    if (asked)
        return true;
    if (handle == RTLD_DEFAULT || handle == RTLD_NEXT)
        return false;
    *found = version == NULL ? next->sym(handle, name) : next->vsym(handle, name, version);
    return true;
}

/* Objects that were there at the start are searched in the order of the loader's list. */
static bool is_in_front_of_us(const struct link_map *object)
{
    const struct link_map *own = own_object();
    while (own != NULL && own != object)
        own = own->l_prev;
    return own != NULL && object != own_object();
}

/* Returns whether a search that ends at this function passes this library, as that of a linked
 * reference does. Then our function is found first, whatever library the other is in. */
static bool comes_past_us(enum hook_id id, const void *found, const void *handle,
                          const void *caller)
{
    return (handle == RTLD_DEFAULT ||
            (handle == RTLD_NEXT && is_in_front_of_us(object_of(caller)))) &&
           real_dlsym(RTLD_NEXT, function_names[id].name) == found;
}

/* The same for a name of the table. */
static struct dlsym_answer answer_hook(enum hook_id id, void *found, void *handle,
                                       const void *caller, bool entries)
{
    void *entry = NULL;
    if (object_of(found) == own_object())
        found = resolve_behind_us(id, handle == RTLD_DEFAULT, caller);
    if (found != NULL && entries)
        entry = comes_past_us(id, found, handle, caller) ? entry_for(id, found)
                                                         : dlsym_entry(id, found);
    if (found != NULL && next_dlerror() != NULL)
        next_dlerror()(); /* a success leaves no error, whatever was asked on the way */
    return (struct dlsym_answer){entry != NULL ? entry : found, NULL};
}

struct dlsym_answer dlsym_answer(void *handle, const char *name, const char *version,
                                 const void *caller)
{
    struct dl_functions next = next_dlsyms();
    void *go_on = version == NULL ? (void *)(uintptr_t)next.sym : (void *)(uintptr_t)next.vsym;
    struct dlsym_answer answer = {NULL, go_on};
    int wanted = what_is_wanted();
    const uint16_t *id = wanted != NO_HOOKS ? hook_of(name) : NULL;
    void *found = NULL;
    int saved = errno;
    if (id == NULL || go_on == NULL)
        return answer;
    if (ask(&next, handle, name, version, caller, &found) && found != NULL)
        answer = answer_hook((enum hook_id) * id, found, handle, caller, wanted != NO_ENTRIES);
    errno = saved;
    return answer;
}

/* ---- dlclose() ----
 *
 * Forgets the entries of a library and its callers when they are unloaded (resolve.h). */

/* Reads the number of objects unloaded since the start. */
static int note_unloaded(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    *(unsigned long long *)data = info->dlpi_subs;
    return 1;
}

static unsigned long long count_unloaded(void)
{
    unsigned long long n = 0;
    loader_objects(note_unloaded, &n);
    return n;
}

__attribute__((visibility("default"))) int dlclose(void *handle)
{
    int (*next)(void *) = next_dlclose();
    unsigned long long before = count_unloaded();
    int result = next != NULL ? next(handle) : -1, saved = errno;
    if (count_unloaded() != before) {
        struct signal_block blocked;
        signal_block_begin(&blocked);
        resolve_unloaded();
        signal_block_end(&blocked);
    }
    errno = saved;
    return result;
}

#endif

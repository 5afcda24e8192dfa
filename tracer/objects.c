/* SPDX-License-Identifier: MIT */
#include "objects.h"

#include "loader.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define OBJECTS_MAX 1024

struct object {
    struct link_map map;
    const char *file, *soname; /* names that others may need it by; soname NULL: none */
    uintptr_t begin, end;      /* in memory */
    bool is_listed;            /* in the scope that is being put together */
};

/* The list as it is during one walk. The loader holds a lock meanwhile, which also guards this: it
 * is read and written in callbacks of dl_iterate_phdr() alone. Nothing is unloaded there, and
 * nothing that takes the loader's other lock, as dladdr() does, may be called. */
static struct object objects[OBJECTS_MAX];
static int count;

/* The number of objects, the first of the list, that came with the program, which are never
 * unloaded. 0: not counted yet. */
static int count_at_start;

/* Walks so far. The loader's lock orders them; this shows it to ThreadSanitizer, which does not
 * know that lock. */
static _Atomic unsigned walks;

static int note_object(struct dl_phdr_info *info, size_t size, void *data)
{
    struct object *o = &objects[count];
    (void)size, (void)data;
    if (count == OBJECTS_MAX)
        return 1;
    *o = (struct object){.map = {.l_addr = info->dlpi_addr, .l_name = (char *)info->dlpi_name},
                         .begin = UINTPTR_MAX};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_DYNAMIC)
            o->map.l_ld = (ElfW(Dyn) *)begin;
        if (p->p_type == PT_LOAD && begin < o->begin)
            o->begin = begin;
        if (p->p_type == PT_LOAD && begin + p->p_memsz > o->end)
            o->end = begin + p->p_memsz;
    }
    o->file = elf_file(&o->map);
    o->soname = o->map.l_ld != NULL ? elf_soname(&o->map) : NULL;
    count++;
    return 0;
}

/* ---- questions to the list ---- */

static int index_of(const struct link_map *object)
{
    for (int i = 0; object != NULL && i < count; i++) {
        if (objects[i].map.l_ld == object->l_ld)
            return i;
    }
    return -1;
}

static bool is_named(const struct object *o, const char *name)
{
    return (o->soname != NULL && elf_compare(o->soname, name) == 0) ||
           elf_compare(o->file, name) == 0 || elf_compare(o->map.l_name, name) == 0;
}

/* The loader takes the first object of a needed name; -1: there is none. */
static int find_needed(const char *name)
{
    for (int i = 0; i < count; i++) {
        if (is_named(&objects[i], name))
            return i;
    }
    return -1;
}

static bool is_needed(int library, int user)
{
    const ElfW(Dyn) *at = NULL;
    const char *name;
    if (objects[user].map.l_ld == NULL)
        return false;
    while ((name = elf_needed(&objects[user].map, &at)) != NULL) {
        if (is_named(&objects[library], name) && find_needed(name) == library)
            return true;
    }
    return false;
}

static bool is_needed_by_earlier(int i)
{
    for (int user = 0; user < i; user++) {
        if (is_needed(i, user))
            return true;
    }
    return false;
}

/* The loader itself came with the program, after all preloads, because the C library needs it.
 * Objects after it came with the program, too, up to the first that no earlier one needs: that was
 * opened, if only by a constructor that ran before all of ours. */
static int count_start(void)
{
    int i = 0;
    while (i < count && !elf_is_loader(&objects[i].map))
        i++;
    do
        i++;
    while (i < count && is_needed_by_earlier(i));
    return i < count ? i : count;
}

/* The functions of this module call loader_objects() with one of the walk_*() below, for the
 * loader's lock alone: it ignores the object that it is given, notes the whole list here, by a walk
 * inside the walk, looks at it, and returns 1 to end. */
static void walk_begin(void)
{
    (void)atomic_load(&walks);
    count = 0;
    loader_objects(note_object, NULL);
    if (count_at_start == 0)
        count_at_start = count_start();
}

/* Returns whether a dlopen() asked for this object itself, not for one that needs it. */
static bool is_root(int i)
{
    return i < count_at_start ? i == 0 : !is_needed_by_earlier(i);
}

static int root_of(int i)
{
    while (i > 0 && !is_root(i))
        i--;
    return i;
}

static function definition(int i, const char *name, const struct link_map *own_library)
{
    void *found = NULL;
    function f;
    if (objects[i].map.l_ld != NULL && objects[i].map.l_ld != own_library->l_ld)
        found = elf_function(&objects[i].map, name);
    memcpy(&f, &found, sizeof f);
    return f;
}

/* ---- one function ---- */

struct walk {
    struct definitions *d;
    const char *name, *version;
    const struct link_map *caller, *own_library;
    function real; /* in, or out */
    bool came_later;
};

/* Puts what the object needs, and is not there yet, after the others of the scope. */
static int list_needed(int *order, int listed, int user)
{
    const ElfW(Dyn) *at = NULL;
    const char *name;
    while (objects[user].map.l_ld != NULL && (name = elf_needed(&objects[user].map, &at)) != NULL) {
        int i = find_needed(name);
        if (i >= 0 && !objects[i].is_listed) {
            objects[i].is_listed = true;
            order[listed++] = i;
        }
    }
    return listed;
}

/* Breadth first from the root of the object's dlopen(), as the loader orders a scope; that of the
 * program is the list itself, with the preloads. A definition without a version, or in the version
 * asked for, serves. */
static function find_in_scope(const struct walk *w, int object, const char *version)
{
    static int order[OBJECTS_MAX];
    int listed = 0, root = root_of(object);
    for (int i = 0; i < count; i++) {
        objects[i].is_listed = root == 0 ? i < count_at_start : i == root;
        if (objects[i].is_listed)
            order[listed++] = i;
    }
    for (int at = 0; at < listed; at++) {
        function found = definition(order[at], w->name, w->own_library);
        const char *has = found != NULL ? elf_version(&objects[order[at]].map, w->name) : NULL;
        if (found != NULL && (version == NULL || has == NULL || elf_compare(has, version) == 0))
            return found;
        listed = list_needed(order, listed, order[at]);
    }
    return NULL;
}

static void find_own_definitions(struct walk *w)
{
    struct definitions *d = w->d;
    int caller = index_of(w->caller);
    for (int i = 0; i < count; i++) {
        function found = definition(i, w->name, w->own_library);
        if (found == NULL)
            continue;
        if (i == caller)
            d->own = found;
        if (d->count++ == 0) {
            d->first = found;
            d->stays = i < count_at_start || i == caller || (caller >= 0 && is_needed(i, caller));
        }
    }
    d->is_plain = d->count == 1 && d->stays;
}

static void find_reference(struct walk *w)
{
    struct definitions *d = w->d;
    if (w->caller == NULL)
        return;
    d->is_referred = elf_refers(w->caller, w->name, &d->version);
    d->is_bound_early =
        (d->is_referred || d->own != NULL) && !elf_is_bound_lazily(w->caller, w->name);
}

/* Those that define the function themselves have no part in this: they call their own. */
static void find_others_references(struct walk *w)
{
    struct definitions *d = w->d;
    bool agree = true;
    d->others_ask_versions = true;
    for (int i = 0; i < count; i++) {
        const char *version;
        function found;
        if (objects[i].map.l_ld == NULL || !elf_refers(&objects[i].map, w->name, &version))
            continue;
        d->others_ask_versions &= version != NULL;
        found = find_in_scope(w, i, version);
        agree = agree && (d->of_others == NULL || found == NULL || found == d->of_others);
        d->of_others = found != NULL ? found : d->of_others;
    }
    d->of_others = agree ? d->of_others : NULL;
}

static int walk_definitions(struct dl_phdr_info *info, size_t size, void *data)
{
    struct walk *w = data;
    (void)info, (void)size;
    walk_begin();
    find_own_definitions(w);
    if (!w->d->is_plain) {
        find_reference(w);
        if (w->d->own == NULL && !w->d->is_referred)
            find_others_references(w);
    }
    atomic_fetch_add(&walks, 1);
    return 1;
}

void objects_definitions(struct definitions *d, const char *name, const struct link_map *caller)
{
    struct walk w = {.d = d, .name = name, .caller = caller, .own_library = own_object()};
    *d = (struct definitions){0};
    loader_objects(walk_definitions, &w);
}

static int walk_scope(struct dl_phdr_info *info, size_t size, void *data)
{
    struct walk *w = data;
    int caller;
    (void)info, (void)size;
    walk_begin();
    caller = index_of(w->caller);
    w->real = caller >= 0 ? find_in_scope(w, caller, w->version) : NULL;
    atomic_fetch_add(&walks, 1);
    return 1;
}

function objects_in_scope(const char *name, const char *version, const struct link_map *caller)
{
    struct walk w = {
        .name = name, .version = version, .caller = caller, .own_library = own_object()};
    loader_objects(walk_scope, &w);
    return w.real;
}

static int walk_behind(struct dl_phdr_info *info, size_t size, void *data)
{
    struct walk *w = data;
    int caller;
    (void)info, (void)size;
    walk_begin();
    caller = index_of(w->caller);
    for (int i = caller + 1; caller >= 0 && w->real == NULL && i < count; i++)
        w->real = definition(i, w->name, w->own_library);
    atomic_fetch_add(&walks, 1);
    return 1;
}

function objects_behind(const char *name, const struct link_map *caller)
{
    struct walk w = {.name = name, .caller = caller, .own_library = own_object()};
    loader_objects(walk_behind, &w);
    return w.real;
}

/* The object that holds the function; `count`: none. */
static int holder_of(function real)
{
    uintptr_t address = (uintptr_t)real;
    int i = 0;
    while (i < count && !(address >= objects[i].begin && address < objects[i].end))
        i++;
    return i;
}

static bool is_later(int i, int than)
{
    return i < count && i > than && root_of(i) > than;
}

static int note_came_later(struct dl_phdr_info *info, size_t size, void *data)
{
    struct walk *w = data;
    int caller;
    (void)info, (void)size;
    walk_begin();
    caller = index_of(w->caller);
    w->came_later = caller >= 0 && is_later(holder_of(w->real), caller);
    atomic_fetch_add(&walks, 1);
    return 1;
}

bool objects_came_later(function real, const struct link_map *caller)
{
    struct walk w = {.caller = caller, .real = real};
    loader_objects(note_came_later, &w);
    return w.came_later;
}

static int note_came_later_for_all(struct dl_phdr_info *info, size_t size, void *data)
{
    struct walk *w = data;
    const char *version;
    int holder;
    (void)info, (void)size;
    walk_begin();
    holder = holder_of(w->real);
    w->came_later = true;
    for (int i = 0; i < count && w->came_later; i++) {
        if (objects[i].map.l_ld != NULL && elf_refers(&objects[i].map, w->name, &version))
            w->came_later = is_later(holder, i) && !elf_is_bound_lazily(&objects[i].map, w->name);
    }
    atomic_fetch_add(&walks, 1);
    return 1;
}

bool objects_came_later_for_all(function real, const char *name)
{
    struct walk w = {.name = name, .real = real};
    loader_objects(note_came_later_for_all, &w);
    return w.came_later;
}

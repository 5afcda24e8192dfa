/* SPDX-License-Identifier: MIT */
#include "resolve.h"

#include "hooks/cublas.h"
#include "hooks/cuda.h"
#include "hooks/nccl.h"
#include "hold.h"
#include "record.h"

#include "warn.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* Bounds what a first call takes of its thread's stack. */
#define MAX_COPIES 4
#define MAX_PATH 1024

const struct function_name function_names[FUNCTION_COUNT] = {
#define HOOK(_lib, _ret, _fn, _params, _args, _record) \
    [HOOK_##_fn] = {#_fn, LIB_##_lib, RECORD_OF_##_record},
#include "hooks.def"
#define X(_lib, _fn) [GETTER_##_fn] = {#_fn, LIB_##_lib, -1},
    TRACER_GETTERS(X)
#undef X
};

static const char *const stems[LIB_COUNT] = {
#define X(_id, _stem, _error) [LIB_##_id] = _stem,
    TRACER_LIBS(X)
#undef X
};

/* ---- loaded libraries ---- */

struct copies {
    const char *stem;
    int count;
    char path[MAX_COPIES][MAX_PATH];
};

bool resolve_is_library(const char *path, const char *stem)
{
    const char *slash = strrchr(path, '/');
    const char *p = slash != NULL ? slash + 1 : path;
    size_t len = strlen(stem), hex = 0;
    if (strncmp(p, stem, len) != 0)
        return false;
    p += len;
    if (*p == '-') {
        while (isxdigit((unsigned char)p[1 + hex]))
            hex++;
        if (hex < 8)
            return false;
        p += 1 + hex;
    }
    return strncmp(p, ".so", 3) == 0 && (p[3] == '\0' || p[3] == '.');
}

static int note_copy(struct dl_phdr_info *info, size_t size, void *data)
{
    struct copies *c = data;
    (void)size;
    if (c->count == MAX_COPIES || info->dlpi_name == NULL ||
        strlen(info->dlpi_name) > MAX_PATH - 1 || !resolve_is_library(info->dlpi_name, c->stem))
        return 0;
    strcpy(c->path[c->count++], info->dlpi_name);
    return 0;
}

static void find_copies(struct copies *c, const char *stem)
{
    c->stem = stem;
    c->count = 0;
    dl_iterate_phdr(note_copy, c);
}

static void *reopen(const char *path)
{
    return dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
}

void *resolve_library(const char *stem)
{
    struct copies c;
    find_copies(&c, stem);
    return c.count > 0 ? reopen(c.path[0]) : NULL;
}

/* ---- choosing among them ---- */

static function as_function(void *p)
{
    function f;
    memcpy(&f, &p, sizeof f);
    return f;
}

static bool is_ours(const void *p)
{
    static const char here;
    Dl_info a, b;
    return dladdr(p, &a) != 0 && dladdr(&here, &b) != 0 && a.dli_fbase == b.dli_fbase;
}

static void *usable(void *p)
{
    return p == NULL || is_ours(p) ? NULL : p;
}

static void *in_library(const char *path, const char *name)
{
    void *library = reopen(path); /* stays open: an answer must not be unloaded */
    return library != NULL ? usable(dlsym(library, name)) : NULL;
}

/* The answer of a search, whose library must not be unloaded either. */
static void *pinned(void *p)
{
    Dl_info info;
    if (usable(p) == NULL)
        return NULL;
    if (dladdr(p, &info) != 0 && info.dli_fname != NULL)
        reopen(info.dli_fname);
    return p;
}

static const struct link_map *object_of(const void *address)
{
    struct link_map *map = NULL;
    Dl_info info;
    if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0)
        return NULL;
    return map;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The object's table of strings. glibc has relocated the addresses of the dynamic section where it
 * is writable; else they count from the load address. */
static const char *strings_of(const struct link_map *object)
{
    for (const ElfW(Dyn) *d = object->l_ld; d != NULL && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_STRTAB)
            return (const char *)(d->d_un.d_ptr < object->l_addr ? d->d_un.d_ptr + object->l_addr
                                                                 : d->d_un.d_ptr);
    }
    return NULL;
}

/* Has the object's dynamic section an entry DT_NEEDED or DT_SONAME of this text? */
static bool has_entry(const struct link_map *object, ElfW(Sxword) tag, const char *text)
{
    const char *strings = strings_of(object);
    for (const ElfW(Dyn) *d = object->l_ld; strings != NULL && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == tag && strcmp(strings + d->d_un.d_val, text) == 0)
            return true;
    }
    return false;
}

/* A copy may be needed by the name of its file or by its SONAME: libnccl.so.2 for a library opened
 * as libnccl.so.2.28.9. */
static bool needs(const struct link_map *caller, const char *path)
{
    const char *strings = strings_of(caller);
    void *library;
    struct link_map *copy = NULL;
    if (has_entry(caller, DT_NEEDED, base_name(path)))
        return true;
    library = reopen(path);
    if (strings == NULL || library == NULL || dlinfo(library, RTLD_DI_LINKMAP, &copy) != 0)
        return false;
    for (const ElfW(Dyn) *d = caller->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_NEEDED && has_entry(copy, DT_SONAME, strings + d->d_un.d_val))
            return true;
    }
    return false;
}

/* The copy that the caller's object is or needs; -1: neither. */
static int copy_of_caller(const struct copies *c, const struct link_map *caller)
{
    for (int i = 0; caller != NULL && i < c->count; i++) {
        if (strcmp(caller->l_name, c->path[i]) == 0)
            return i;
    }
    for (int i = 0; caller != NULL && i < c->count; i++) {
        if (needs(caller, c->path[i]))
            return i;
    }
    return -1;
}

static void *search(const char *name, const char *stem, const void *caller)
{
    const struct link_map *object = object_of(caller);
    void *found = NULL;
    struct copies c;
    int own;
    find_copies(&c, stem);
    if (c.count > 1 && (own = copy_of_caller(&c, object)) >= 0)
        found = in_library(c.path[own], name);
    if (found == NULL)
        found = pinned(dlsym(RTLD_NEXT, name));
    for (int i = 0; found == NULL && i < c.count; i++)
        found = in_library(c.path[i], name);
    if (found == NULL && object != NULL && object->l_name[0] != '\0')
        found = in_library(object->l_name, name);
    dlerror(); /* what our own tries left there is not for the program to find */
    return found;
}

static void *choose(const char *name, const char *stem, const void *caller)
{
    struct hold hold;
    void *found;
    hold_begin(&hold);
    found = search(name, stem, caller);
    hold_end(&hold);
    return found;
}

/* ---- answers that were given ---- */

#define CACHE_SLOTS 4096
#define CACHE_PROBES 16

static struct {
    _Atomic uint64_t key; /* calling address, function id above it; 0: empty */
    _Atomic(function) real;
} cache[CACHE_SLOTS];

static uint64_t key_of(enum hook_id id, const void *caller)
{
    return ((uint64_t)(uintptr_t)caller & ((UINT64_C(1) << 48) - 1)) | (uint64_t)(id + 1) << 48;
}

static uint32_t slot_of(uint64_t key)
{
    return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (CACHE_SLOTS - 1);
}

static function cached(uint64_t key)
{
    uint32_t slot = slot_of(key);
    for (int i = 0; i < CACHE_PROBES; i++, slot = (slot + 1) & (CACHE_SLOTS - 1)) {
        uint64_t there = atomic_load_explicit(&cache[slot].key, memory_order_relaxed);
        if (there == key)
            return atomic_load_explicit(&cache[slot].real, memory_order_acquire);
        if (there == 0)
            return NULL;
    }
    return NULL;
}

/* A full neighbourhood keeps nothing: that place resolves again each time, slowly but rightly. */
static void keep(uint64_t key, function real)
{
    uint32_t slot = slot_of(key);
    for (int i = 0; i < CACHE_PROBES; i++, slot = (slot + 1) & (CACHE_SLOTS - 1)) {
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&cache[slot].key, &there, key) || there == key) {
            atomic_store_explicit(&cache[slot].real, real, memory_order_release);
            return;
        }
    }
}

function resolve(enum hook_id id, const void *caller)
{
    uint64_t key = key_of(id, caller);
    function real = cached(key);
    int saved = errno;
    if (real != NULL)
        return real;
    real = as_function(choose(function_names[id].name, stems[function_names[id].lib], caller));
    if (real != NULL)
        keep(key, real);
    else
        warn_once("no library in this process has ", function_names[id].name,
                  "; the call returns an error", NULL);
    errno = saved;
    return real;
}

function resolve_beside(enum hook_id id, function neighbour)
{
    const void *address;
    uint64_t key;
    struct hold hold;
    function real;
    Dl_info info;
    memcpy(&address, &neighbour, sizeof address);
    key = key_of(id, address);
    real = cached(key);
    if (real != NULL || address == NULL || dladdr(address, &info) == 0 || info.dli_fname == NULL)
        return real;
    hold_begin(&hold);
    real = as_function(in_library(info.dli_fname, function_names[id].name));
    hold_end(&hold);
    if (real == NULL) /* another preload answers for the library */
        real = as_function(choose(function_names[id].name, stems[function_names[id].lib], address));
    if (real != NULL)
        keep(key, real);
    dlerror(); /* as in choose() */
    return real;
}

function resolve_any(enum hook_id id)
{
    return as_function(choose(function_names[id].name, stems[function_names[id].lib], NULL));
}

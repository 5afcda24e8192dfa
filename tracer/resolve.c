/* SPDX-License-Identifier: MIT */
#include "resolve.h"

#include "hooks/cublas.h"
#include "hooks/cuda.h"
#include "hooks/nccl.h"
#include "elf.h"
#include "real.h"
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

const char *const resolve_stems[LIB_COUNT] = {
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

static bool is_file_of(const char *p, const char *stem, size_t len)
{
    size_t hex = 0;
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

bool resolve_is_library(const char *path, const char *stem)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash != NULL ? slash + 1 : path;
    size_t len = strcspn(stem, "|");
    while (!is_file_of(file, stem, len)) {
        if (stem[len] == '\0')
            return false;
        stem += len + 1;
        len = strcspn(stem, "|");
    }
    return true;
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

static void *usable(void *p)
{
    return p == NULL || object_of(p) == own_object() ? NULL : p;
}

static void *in_library(const char *path, const char *name)
{
    void *library = reopen(path); /* stays open: an answer must not be unloaded */
    return library != NULL ? usable(real_dlsym(library, name)) : NULL;
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

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* A copy may be needed by the name of its file or by its SONAME: libnccl.so.2 for a library opened
 * as libnccl.so.2.28.9. */
static bool needs(const struct link_map *caller, const char *path)
{
    void *library;
    struct link_map *copy = NULL;
    if (elf_has_entry(caller, DT_NEEDED, base_name(path)))
        return true;
    library = reopen(path);
    return library != NULL && dlinfo(library, RTLD_DI_LINKMAP, &copy) == 0 &&
           elf_needs_soname(caller, copy);
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
        found = pinned(real_dlsym(RTLD_NEXT, name));
    for (int i = 0; found == NULL && i < c.count; i++)
        found = in_library(c.path[i], name);
    if (found == NULL && object != NULL && object->l_name[0] != '\0')
        found = in_library(object->l_name, name);
    dlerror(); /* what our own tries left there is not for the program to find */
    return found;
}

static function choose(enum hook_id id, const void *caller)
{
    struct hold hold;
    void *found;
    hold_begin(&hold);
    found = search(function_names[id].name, resolve_stems[function_names[id].lib], caller);
    hold_end(&hold);
    return as_function(found);
}

/* ---- where calls went ---- */

#define CALLED_MAX 32

static _Atomic(const ElfW(Dyn) *) called[CALLED_MAX]; /* dynamic sections */

static void note_called(function real)
{
    const struct link_map *object;
    struct hold hold;
    void *address;
    memcpy(&address, &real, sizeof address);
    hold_begin(&hold);
    object = object_of(address);
    hold_end(&hold);
    for (int i = 0; object != NULL && i < CALLED_MAX; i++) {
        const ElfW(Dyn) *there = NULL;
        if (atomic_compare_exchange_strong(&called[i], &there, object->l_ld) ||
            there == object->l_ld)
            return;
    }
}

bool resolve_was_called(const ElfW(Dyn) * dynamic)
{
    for (int i = 0; i < CALLED_MAX; i++) {
        if (atomic_load(&called[i]) == dynamic)
            return true;
    }
    return false;
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

/* ---- entries: pointers that dlsym() gave ---- */

__thread uint32_t resolve_entered __attribute__((tls_model("initial-exec")));

static struct {
    _Atomic(function) real;
    _Atomic bool pinned;
} entries[HOOK_COUNT][RESOLVE_ENTRIES];

int resolve_entry(enum hook_id id, function real)
{
    for (int i = 0; i < RESOLVE_ENTRIES; i++) {
        function there = NULL;
        if (atomic_compare_exchange_strong(&entries[id][i].real, &there, real) || there == real)
            return i;
    }
    return -1;
}

/* A program may close the library, and we ask it until the end. */
static void keep_loaded(function real)
{
    struct hold hold;
    void *address;
    int saved = errno;
    memcpy(&address, &real, sizeof address);
    note_called(real);
    hold_begin(&hold);
    pinned(address);
    hold_end(&hold);
    errno = saved;
}

/* A signal handler may come between an entry and its wrapper, and make a call of its own: what was
 * left for another function is left for it. */
static function entered(enum hook_id id)
{
    uint32_t index = resolve_entered - 1;
    int entry = (int)(index % RESOLVE_ENTRIES);
    function real;
    if (resolve_entered == 0 || index / RESOLVE_ENTRIES != (uint32_t)id)
        return NULL;
    resolve_entered = 0;
    real = atomic_load_explicit(&entries[id][entry].real, memory_order_relaxed);
    if (!atomic_load_explicit(&entries[id][entry].pinned, memory_order_relaxed)) {
        keep_loaded(real);
        atomic_store_explicit(&entries[id][entry].pinned, true, memory_order_relaxed);
    }
    return real;
}

function resolve(enum hook_id id, const void *caller)
{
    uint64_t key = key_of(id, caller);
    function real = resolve_entered != 0 ? entered(id) : NULL;
    int saved = errno;
    if (real == NULL)
        real = cached(key);
    if (real != NULL)
        return real;
    real = choose(id, caller);
    if (real != NULL) {
        note_called(real);
        keep(key, real);
    } else {
        struct hold hold;
        hold_begin(&hold); /* it writes */
        warn_once("no library in this process has ", function_names[id].name,
                  "; the call returns an error", NULL);
        hold_end(&hold);
    }
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
    bool known;
    memcpy(&address, &neighbour, sizeof address);
    key = key_of(id, address);
    real = cached(key);
    if (real != NULL || address == NULL)
        return real;
    hold_begin(&hold);
    known = dladdr(address, &info) != 0 && info.dli_fname != NULL;
    if (known)
        real = as_function(in_library(info.dli_fname, function_names[id].name));
    hold_end(&hold);
    if (known && real == NULL) /* another preload answers for the library */
        real = choose(id, address);
    if (real != NULL)
        keep(key, real);
    dlerror(); /* as in choose() */
    return real;
}

bool resolve_is_own(enum hook_id id, function real)
{
    static _Atomic(function) own[FUNCTION_COUNT], others[FUNCTION_COUNT];
    struct hold hold;
    const struct link_map *object;
    const void *address;
    bool is_own;
    if (atomic_load_explicit(&own[id], memory_order_relaxed) == real)
        return true;
    if (atomic_load_explicit(&others[id], memory_order_relaxed) == real)
        return false;
    memcpy(&address, &real, sizeof address);
    hold_begin(&hold);
    object = object_of(address);
    hold_end(&hold);
    is_own =
        object != NULL && resolve_is_library(object->l_name, resolve_stems[function_names[id].lib]);
    atomic_store_explicit(is_own ? &own[id] : &others[id], real, memory_order_relaxed);
    return is_own;
}

function resolve_any(enum hook_id id)
{
    return choose(id, NULL);
}

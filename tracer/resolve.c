/* SPDX-License-Identifier: MIT */
#include "resolve.h"

#include "hooks/calls.h"
#include "loader.h"
#include "objects.h"
#include "record.h"
#include "tracer.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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

/* ---- answers that were found before ---- */

#define ANSWER_SLOTS 4096 /* a power of two */
#define ANSWER_PROBES 16

/* `sequence` is odd while a thread writes; a reader that sees it odd or changed ignores the slot.
 */
static struct cached_answer {
    _Atomic uint32_t sequence;
    _Atomic uint32_t generation;
    _Atomic uint64_t key; /* 0: never used */
    _Atomic(function) real;
} slots[ANSWER_SLOTS];

_Atomic uint32_t answers_generation;

static uint64_t key_of(enum hook_id id, const void *place)
{
    return ((uint64_t)(uintptr_t)place & ((UINT64_C(1) << 48) - 1)) | (uint64_t)(id + 1) << 48;
}

static uint32_t first_slot(uint64_t key)
{
    return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (ANSWER_SLOTS - 1);
}

function answers_get(enum hook_id id, const void *place)
{
    uint64_t key = key_of(id, place), there;
    uint32_t now = atomic_load_explicit(&answers_generation, memory_order_acquire);
    for (uint32_t i = 0, at = first_slot(key); i < ANSWER_PROBES;
         i++, at = (at + 1) & (ANSWER_SLOTS - 1)) {
        struct cached_answer *s = &slots[at];
        uint32_t sequence = atomic_load_explicit(&s->sequence, memory_order_acquire);
        there = atomic_load_explicit(&s->key, memory_order_acquire);
        if (there == key) {
            uint32_t generation = atomic_load_explicit(&s->generation, memory_order_acquire);
            function real = atomic_load_explicit(&s->real, memory_order_acquire);
            if ((sequence & 1) == 0 && generation == now &&
                atomic_load_explicit(&s->sequence, memory_order_relaxed) == sequence)
                return real;
        }
        if (there == 0)
            return NULL;
    }
    return NULL;
}

/* A slot that another thread is writing is left to it. */
static bool write_slot(struct cached_answer *s, uint64_t key, function real, uint32_t generation)
{
    uint32_t sequence = atomic_load_explicit(&s->sequence, memory_order_acquire);
    if ((sequence & 1) != 0 ||
        !atomic_compare_exchange_strong(&s->sequence, &sequence, sequence + 1))
        return false;
    atomic_store(&s->key, key);
    atomic_store(&s->generation, generation);
    atomic_store(&s->real, real);
    atomic_store(&s->sequence, sequence + 2);
    return true;
}

static bool is_free(struct cached_answer *s, uint64_t key)
{
    uint64_t there = atomic_load_explicit(&s->key, memory_order_acquire);
    return there == 0 || there == key ||
           atomic_load_explicit(&s->generation, memory_order_acquire) !=
               atomic_load_explicit(&answers_generation, memory_order_acquire);
}

void answers_put(enum hook_id id, const void *place, function real, uint32_t generation)
{
    uint64_t key = key_of(id, place);
    uint32_t first = first_slot(key), at = first;
    for (int i = 0; i < ANSWER_PROBES; i++, at = (at + 1) & (ANSWER_SLOTS - 1)) {
        if (is_free(&slots[at], key) && write_slot(&slots[at], key, real, generation))
            return;
    }
    write_slot(&slots[first], key, real, generation);
}

/* ---- loaded libraries ---- */

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

/* ---- the libraries that calls went to ---- */

#define CALLED_MAX 32

static _Atomic(const ElfW(Dyn) *) called[CALLED_MAX]; /* dynamic sections */

static void note_called(function real)
{
    const struct link_map *object;
    struct signal_block blocked;
    void *address;
    memcpy(&address, &real, sizeof address);
    signal_block_begin(&blocked);
    object = object_of(address);
    signal_block_end(&blocked);
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

/* ---- where a function is ---- */

#define PATH_MAX_KEPT 512

/* A search for an object that is one of the libraries that `stem` names. */
struct library_search {
    const char *stem;
    char path[PATH_MAX_KEPT];
};

static int note_library(struct dl_phdr_info *info, size_t size, void *data)
{
    struct library_search *s = data;
    (void)size;
    if (info->dlpi_name == NULL || strlen(info->dlpi_name) >= sizeof s->path ||
        !resolve_is_library(info->dlpi_name, s->stem))
        return 0;
    strcpy(s->path, info->dlpi_name);
    return 1;
}

bool resolve_is_loaded(const char *stem)
{
    struct library_search s = {.stem = stem};
    return loader_objects(note_library, &s) != 0;
}

void *resolve_library(const char *stem)
{
    struct library_search s = {.stem = stem};
    void *handle = NULL;
    loader_enter();
    if (loader_objects(note_library, &s) != 0)
        handle = dlopen(s.path, RTLD_LAZY | RTLD_NOLOAD);
    loader_leave();
    return handle;
}

static function as_function(void *p)
{
    function f;
    memcpy(&f, &p, sizeof f);
    return f;
}

/* A question to the loader: which function does a call of `name` from `object` mean? */
struct symbol_query {
    enum hook_id id;
    const char *name;
    const struct link_map *object; /* the caller's; NULL: not known */
    const void *code;              /* an address in it, to ask in its name; NULL: the program's */
    struct definitions defined;
};

/* ---- asking the loader ---- */

/* The libraries whose references ask for a version. Our functions have none there, so that every
 * reference is bound to them; dlvsym() passes over them, dlsym() does not. Those of all other hooks
 * are versioned so that references are bound to them and dlsym() never finds them (hooks.c). */
static bool is_of_versioned_library(enum hook_id id)
{
    enum lib_id lib = function_names[id].lib;
    return id < (enum hook_id)HOOK_COUNT &&
           (lib == LIB_CUBLAS || lib == LIB_CUBLASLT || lib == LIB_CUDART);
}

static void *unless_ours(void *p)
{
    return p == NULL || object_of(p) == own_object() ? NULL : p;
}

/* Asks in the name of the object that holds r->code. NULL, too, where that cannot be done. */
static void *ask_as(const struct symbol_query *r, void *handle, const char *version)
{
    const struct dl_functions libc = libc_dlsyms();
    void *found = NULL;
    loader_enter();
    as_caller_ask(&libc, r->code, handle, r->name, version, &found);
    loader_leave();
    return unless_ours(found);
}

/* Finds the function that follows ours in the global scope. */
static void *ask_global(const struct symbol_query *r)
{
    return unless_ours(real_dlsym(RTLD_NEXT, r->name));
}

static const char *version_of(const void *found, const char *name)
{
    const struct link_map *object = object_of(found);
    return object != NULL ? elf_version(object, name) : NULL;
}

/* A definition without a version, or in the right one, after us in the global scope comes before
 * what dlvsym() finds. */
static void *ask_version(const struct symbol_query *r)
{
    const char *wanted = r->defined.version, *has;
    void *global = ask_global(r);
    if (global != NULL && ((has = version_of(global, r->name)) == NULL || strcmp(has, wanted) == 0))
        return global;
    return ask_as(r, RTLD_DEFAULT, wanted);
}

static void *as_data(function f)
{
    void *p;
    memcpy(&p, &f, sizeof p);
    return p;
}

/* Our function is in the way of RTLD_DEFAULT, so the scopes are searched one by one: the global
 * one, then that of the dlopen() which brought the object. A versioned library that calls itself
 * means its own version. Asked once more by its version, the answer is noted as what the object
 * depends on. */
static void *ask_any_version(const struct symbol_query *r)
{
    const struct definitions *d = &r->defined;
    bool is_own_version = d->own != NULL && elf_version(r->object, r->name) != NULL;
    void *found = is_own_version ? as_data(d->own) : ask_global(r);
    const char *version;
    if (found == NULL)
        found = as_data(objects_in_scope(r->name, NULL, r->object));
    version = found != NULL ? version_of(found, r->name) : NULL;
    if (version != NULL)
        ask_as(r, RTLD_DEFAULT, version);
    return found;
}

/* Answers for a caller that neither refers to the function nor defines it: another object jumped to
 * the function (a tail call), or passed its address. The loader is not asked in the name of this
 * caller, which would depend on the answer from then on. A global definition comes first, unless
 * the other objects' references ask for a version that it has, or were bound before it was loaded.
 */
static function ask_for_others(const struct symbol_query *r)
{
    const struct definitions *d = &r->defined;
    void *global = ask_global(r);
    if (d->of_others != NULL &&
        (global == NULL || (d->others_ask_versions && version_of(global, r->name) != NULL) ||
         objects_came_later_for_all(as_function(global), r->name)))
        return d->of_others;
    return global != NULL ? as_function(global) : objects_in_scope(r->name, NULL, r->object);
}

static function ask(const struct symbol_query *r)
{
    const struct definitions *d = &r->defined;
    void *found;
    if (!d->is_referred && d->own == NULL)
        return ask_for_others(r);
    if (!is_of_versioned_library(r->id))
        found = ask_as(r, RTLD_DEFAULT, NULL);
    else
        found = d->version != NULL ? ask_version(r) : ask_any_version(r);
    if (found == NULL && d->version == NULL) /* nothing could be asked as the caller */
        found = ask_global(r);
    return as_function(found);
}

static void find_object(struct symbol_query *r, enum hook_id id, const void *caller)
{
    *r = (struct symbol_query){.id = id, .name = function_names[id].name, .code = caller};
    r->object = caller != NULL ? object_of(caller) : NULL;
    if (r->object != NULL && elf_is_loader(r->object))
        r->object = NULL; /* the loader called a constructor, which jumped to the function */
    if (r->object == NULL)
        r->code = NULL;
}

static void find_definitions(struct symbol_query *r)
{
    own_object(); /* once, before the loader's list is locked */
    objects_definitions(&r->defined, r->name, r->object);
}

/* Returns the function that was found, or, where the reference was bound when its object was loaded
 * and the library came later, the one that was there then. */
static function as_of_loading(const struct symbol_query *r, function found)
{
    function then;
    if (found == NULL || !r->defined.is_bound_early || !objects_came_later(found, r->object))
        return found;
    then = objects_in_scope(r->name, r->defined.version, r->object);
    if (then == NULL)
        then = objects_behind(r->name, r->object);
    return then != NULL ? then : found;
}

/* Returns whether the answer is what a reference of the object itself is bound to. */
static bool is_of_object(const struct symbol_query *r)
{
    const struct definitions *d = &r->defined;
    const char *version;
    return r->object != NULL && (d->own != NULL || d->is_referred ||
                                 (d->is_plain && elf_refers(r->object, r->name, &version)));
}

static function find(struct symbol_query *r)
{
    const struct definitions *d = &r->defined;
    function found;
    find_definitions(r);
    if (d->is_plain)
        return d->first;
    pending_begin();
    found = as_of_loading(r, ask(r));
    pending_end();
    return found;
}

/* The loader binds a reference once, at the latest when it is first called, for all places of the
 * object. So the first answer is kept for the object, too, by the address of its dynamic section,
 * from which nothing is called. */
static function choose(enum hook_id id, const void *caller)
{
    uint32_t generation = atomic_load(&answers_generation);
    struct symbol_query r;
    struct signal_block blocked;
    function found;
    signal_block_begin(&blocked);
    find_object(&r, id, caller);
    found = r.object != NULL ? answers_get(id, r.object->l_ld) : NULL;
    if (found == NULL) {
        found = find(&r);
        if (found != NULL && is_of_object(&r))
            answers_put(id, r.object->l_ld, found, generation);
    }
    if (found == NULL)
        found = r.defined.own != NULL ? r.defined.own
                                      : objects_in_scope(r.name, r.defined.version, r.object);
    signal_block_end(&blocked);
    return found != NULL ? found : r.defined.first;
}

/* Leaves the error for dlerror() that the loader would give for the caller. */
static void leave_error(const struct symbol_query *r)
{
    char text[512];
    const char *object = r->object != NULL ? r->object->l_name : "";
    snprintf(text, sizeof text, "%s: undefined symbol: %s",
             object[0] != '\0' ? object : program_invocation_name, r->name);
    pending_replace(text);
}

void *resolve_behind_us(enum hook_id id, bool in_all_scopes, const void *caller)
{
    struct symbol_query r;
    struct signal_block blocked;
    void *found;
    signal_block_begin(&blocked);
    find_object(&r, id, caller);
    find_definitions(&r);
    found = in_all_scopes ? ask_any_version(&r) : ask_global(&r);
    if (found == NULL)
        leave_error(&r);
    signal_block_end(&blocked);
    return found;
}

/* ---- entries: pointers that dlsym() gave ---- */

__thread uint32_t resolve_entered __attribute__((tls_model("initial-exec")));

static struct {
    _Atomic(function) real;
    _Atomic bool is_called;
} entries[HOOK_COUNT][RESOLVE_ENTRIES];

static bool is_gone(function real)
{
    const void *address;
    memcpy(&address, &real, sizeof address);
    return object_of(address) == NULL;
}

/* When all entries are taken, that of an unloaded library is used again. */
int resolve_entry(enum hook_id id, function real)
{
    for (int i = 0; i < RESOLVE_ENTRIES; i++) {
        function there = NULL;
        if (atomic_compare_exchange_strong(&entries[id][i].real, &there, real) || there == real)
            return i;
    }
    for (int i = 0; i < RESOLVE_ENTRIES; i++) {
        function there = atomic_load(&entries[id][i].real);
        if (is_gone(there) && atomic_compare_exchange_strong(&entries[id][i].real, &there, real)) {
            atomic_store(&entries[id][i].is_called, false);
            return i;
        }
    }
    return -1;
}

/* A signal handler may run between an entry and its wrapper, and make a call of its own: an entry
 * of another function is left for that function's wrapper. */
static function take_entered(enum hook_id id)
{
    uint32_t index = resolve_entered - 1;
    int entry = (int)(index % RESOLVE_ENTRIES);
    function real;
    if (resolve_entered == 0 || index / RESOLVE_ENTRIES != (uint32_t)id)
        return NULL;
    resolve_entered = 0;
    real = atomic_load_explicit(&entries[id][entry].real, memory_order_relaxed);
    if (real != NULL &&
        !atomic_load_explicit(&entries[id][entry].is_called, memory_order_relaxed)) {
        note_called(real);
        atomic_store_explicit(&entries[id][entry].is_called, true, memory_order_relaxed);
    }
    return real;
}

function resolve(enum hook_id id, const void *caller)
{
    function real = resolve_entered != 0 ? take_entered(id) : NULL;
    uint32_t generation;
    int saved;
    if (real == NULL)
        real = answers_get(id, caller);
    if (real != NULL)
        return real;
    saved = errno;
    generation = atomic_load(&answers_generation);
    real = choose(id, caller);
    if (real != NULL) {
        note_called(real);
        answers_put(id, caller, real, generation);
    } else {
        struct signal_block blocked;
        signal_block_begin(&blocked); /* it writes */
        warn_once("no library in this process has ", function_names[id].name,
                  "; the call returns an error", NULL);
        signal_block_end(&blocked);
    }
    errno = saved;
    return real;
}

function resolve_beside(enum hook_id id, function neighbour)
{
    const void *address;
    const struct link_map *object;
    uint32_t generation;
    struct signal_block blocked;
    function real;
    memcpy(&address, &neighbour, sizeof address);
    real = address != NULL ? answers_get(id, address) : NULL;
    if (real != NULL || address == NULL)
        return real;
    generation = atomic_load(&answers_generation);
    signal_block_begin(&blocked);
    object = object_of(address);
    real = object != NULL ? as_function(elf_function(object, function_names[id].name)) : NULL;
    signal_block_end(&blocked);
    if (object != NULL && real == NULL) /* the neighbour is another preloaded object's */
        real = choose(id, address);
    if (real != NULL)
        answers_put(id, address, real, generation);
    return real;
}

/* ---- functions of the hooked library itself ---- */

static _Atomic(function) of_own_library[FUNCTION_COUNT], of_others[FUNCTION_COUNT];

bool resolve_is_own(enum hook_id id, function real)
{
    struct signal_block blocked;
    const struct link_map *object;
    const void *address;
    bool is_own;
    if (atomic_load_explicit(&of_own_library[id], memory_order_relaxed) == real)
        return true;
    if (atomic_load_explicit(&of_others[id], memory_order_relaxed) == real)
        return false;
    memcpy(&address, &real, sizeof address);
    signal_block_begin(&blocked);
    object = object_of(address);
    signal_block_end(&blocked);
    is_own =
        object != NULL && resolve_is_library(object->l_name, resolve_stems[function_names[id].lib]);
    atomic_store_explicit(is_own ? &of_own_library[id] : &of_others[id], real,
                          memory_order_relaxed);
    return is_own;
}

function resolve_any(enum hook_id id)
{
    return choose(id, NULL);
}

/* ---- when a library has been unloaded ---- */

void resolve_unloaded(void)
{
    atomic_fetch_add(&answers_generation, 1);
    for (int i = 0; i < CALLED_MAX; i++) {
        const ElfW(Dyn) *there = atomic_load(&called[i]);
        if (there != NULL && object_of(there) == NULL)
            atomic_store(&called[i], NULL);
    }
    for (int id = 0; id < HOOK_COUNT; id++) { /* another library may have come to the same place */
        for (int i = 0; i < RESOLVE_ENTRIES; i++)
            atomic_store_explicit(&entries[id][i].is_called, false, memory_order_relaxed);
    }
    for (int id = 0; id < FUNCTION_COUNT; id++) {
        atomic_store_explicit(&of_own_library[id], NULL, memory_order_relaxed);
        atomic_store_explicit(&of_others[id], NULL, memory_order_relaxed);
    }
}

/* SPDX-License-Identifier: MIT
 *
 * Finds reasons against preloading libspecter.so into a program.
 */
#include "cmd/app.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/elf_file.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

void app_init(struct app *p, struct arena *a, const struct loader *loader, const char *library,
              double limit_s)
{
    *p = (struct app){.arena = a, .loader = loader, .library = library, .limit_s = limit_s};
}

void app_release(struct app *p)
{
    free(p->objects);
    free(p->missing.dirs);
    free(p->findings);
}

static void __attribute__((format(printf, 4, 5)))
add_finding(struct app *p, enum app_effect effect, const char *advice, const char *fmt, ...)
{
    struct buf text = BUF_INIT, clean = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    buf_put_printable(&clean, text.data, text.len);
    ARRAY_GROW(p->findings, p->finding_cap, p->finding_count + 1);
    p->findings[p->finding_count++] =
        (struct app_finding){effect, arena_strdup(p->arena, clean.data), advice};
    buf_release(&text);
    buf_release(&clean);
}

/* ---- all that the loader loads at a program's start ---- */

#define OBJECTS_MAX 4096 /* a program needs fewer */

/* Adds the folders of an RPATH or RUNPATH, $ORIGIN being the object's own. */
static void add_run_path(struct app *p, struct dir_list *dirs, const char *list, const char *object)
{
    const char *slash = strrchr(object, '/');
    struct arena *a = p->arena;
    const char *origin = slash != NULL ? arena_strndup(a, object, (size_t)(slash - object)) : ".";
    while (list != NULL && *list != '\0') {
        size_t len = strcspn(list, ":");
        const char *dir = arena_strndup(a, list, len);
        if (strncmp(dir, "$ORIGIN", 7) == 0)
            dir = arena_printf(a, "%s%s", origin, dir + 7);
        else if (strncmp(dir, "${ORIGIN}", 9) == 0)
            dir = arena_printf(a, "%s%s", origin, dir + 9);
        if (len > 0)
            dir_list_add(dirs, dir);
        list += len + (list[len] != '\0');
    }
}

/* The folder of the loader that the program names, when it is not this system's: a C library of its
 * own, as conda, spack and Nix bring it, knows neither our cache nor our folders. NULL: ours. */
static const char *find_own_loader(struct app *p)
{
    struct elf_file f, self;
    char loader[PATH_MAX], usual[PATH_MAX], *slash;
    bool found = elf_file_open(&f, p->file, NULL) == 0 && f.interpreter != NULL &&
                 realpath(f.interpreter, loader) != NULL;
    bool same = elf_file_open(&self, "/proc/self/exe", NULL) < 0 || self.interpreter == NULL ||
                realpath(self.interpreter, usual) == NULL;
    elf_file_close(&f);
    elf_file_close(&self);
    if (!found || same || strcmp(loader, usual) == 0 || (slash = strrchr(loader, '/')) == NULL)
        return NULL;
    return arena_strndup(p->arena, loader, (size_t)(slash - loader));
}

/* The folders in which the loader looks for what an object needs, in its order: the RPATHs of the
 * object and of those that it was needed by, LD_LIBRARY_PATH, the RUNPATH of the object alone, its
 * cache (taken for the folders that are in it), its own. An object with a RUNPATH has no RPATHs. */
static void search_order(struct app *p, size_t of, const char *runpath, struct dir_list *order)
{
    const struct dir_list *dirs = &p->loader->dirs;
    const struct app_object *o = &p->objects[of];
    for (; runpath == NULL; o = &p->objects[o->parent]) {
        add_run_path(p, order, o->rpath, o->path);
        if (o == p->objects)
            break;
    }
    for (size_t i = 0; i < p->loader->from_environment; i++)
        dir_list_add(order, dirs->dirs[i]);
    add_run_path(p, order, runpath, p->objects[of].path);
    if (p->own_loader != NULL)
        dir_list_add(order, p->own_loader);
    for (size_t i = p->loader->from_environment; p->own_loader == NULL && i < dirs->count; i++)
        dir_list_add(order, dirs->dirs[i]);
}

static void add_object(struct app *p, const char *path, const char *name, size_t parent)
{
    for (size_t i = 0; i < p->object_count; i++) {
        if (strcmp(p->objects[i].path, path) == 0)
            return;
    }
    if (p->object_count == OBJECTS_MAX)
        return;
    ARRAY_GROW(p->objects, p->object_cap, p->object_count + 1);
    p->objects[p->object_count++] = (struct app_object){path, name, NULL, parent};
}

static void add_preloads(struct app *p, const struct dir_list *order)
{
    const char *list = getenv("LD_PRELOAD");
    while (list != NULL && *(list += strspn(list, " :")) != '\0') {
        size_t len = strcspn(list, " :");
        const char *name = arena_strndup(p->arena, list, len);
        const char *found = loader_file(order, p->arena, name);
        bool ours = found != NULL && (strcmp(path_base_name(found), "libspecter.so") == 0 ||
                                      (p->library != NULL && strcmp(found, p->library) == 0));
        if (found != NULL && !ours) {
            struct elf_file f;
            bool named = elf_file_open(&f, found, NULL) == 0 && f.soname != NULL;
            /* The name by which other objects need the library. */
            add_object(p, found, named ? arena_strdup(p->arena, f.soname) : found, 0);
            elf_file_close(&f);
        }
        list += len;
    }
}

/* The objects that this one needs are added after all others. */
static void add_needed(struct app *p, size_t of, const struct elf_file *f)
{
    struct dir_list order = {NULL, 0, 0};
    const char *name, *found;
    if (f->runpath == NULL && f->rpath != NULL)
        p->objects[of].rpath = arena_strdup(p->arena, f->rpath);
    search_order(p, of, f->runpath, &order);
    if (of == 0)
        add_preloads(p, &order);
    for (size_t i = 0; (name = elf_file_needed(f, i)) != NULL; i++) {
        bool is_there = false; /* the loader looks for a name once */
        for (size_t k = 0; k < p->object_count && !is_there; k++)
            is_there = strcmp(p->objects[k].name, name) == 0;
        if (is_there)
            continue;
        name = arena_strdup(p->arena, name);
        found = loader_file(&order, p->arena, name);
        if (found == NULL)
            dir_list_add(&p->missing, name);
        else
            add_object(p, found, name, of);
    }
    free(order.dirs);
}

/* All that the objects from `first` on need, then all that these need. */
static void walk_from(struct app *p, size_t first)
{
    for (size_t i = first; i < p->object_count; i++) {
        struct elf_file f;
        if (elf_file_open(&f, p->objects[i].path, NULL) == 0)
            add_needed(p, i, &f);
        elf_file_close(&f);
    }
}

void app_walk_library(struct app *p, const char *path)
{
    size_t before = p->object_count;
    add_object(p, path, path, 0);
    walk_from(p, before);
}

/* The way out of whatever bears no preload, alone or as a child of a traced program. */
#define UNTRACED "start it by 'env -u LD_PRELOAD'"

/* ---- what a preload cannot keep ----
 *
 * libspecter.so exports the hooked names, so that
 *
 * - a weak reference to one that nothing else defines at the start is NULL untraced, and traced it
 * is not: `if (ncclAllReduce)` becomes true;
 * - the address of a hooked function is the wrapper's in code that is linked to it, so that
 * dladdr() names libspecter.so for it.
 *
 * Both are seen in the relocations of what the loader loads at the start. What is opened later is
 * not there yet.
 */

#define HOOK(_lib, _ret, _fn, _params, _args, _record) +1
enum {
    HOOKED = 0
#include "../tracer/hooks.def"
};

enum use {
    DEFINED = 1, /* by an object that is loaded at the start */
    WEAK = 2,    /* a weak reference of the object in question is kept where code can test it */
    TAKEN = 4,   /* its address is kept */
};

struct hooks {
    const char *name[HOOKED]; /* sorted */
    unsigned char use[HOOKED];
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The entry of the hooked function of this name; NULL: no such function is hooked. */
static unsigned char *use_of(struct hooks *h, const char *name)
{
    const char **found = bsearch(&name, h->name, HOOKED, sizeof *h->name, compare_names);
    return found != NULL ? &h->use[found - h->name] : NULL;
}

static void note_definitions(struct hooks *h, const struct elf_file *f)
{
    struct elf_symbol s;
    unsigned char *use;
    for (size_t i = 0; elf_file_symbol(f, i, &s); i++) {
        if (s.defined && (use = use_of(h, s.name)) != NULL)
            *use |= DEFINED;
    }
}

/* The references of one object. Returns whether it asks dladdr(). */
static bool note_references(struct hooks *h, const struct elf_file *f)
{
    struct elf_symbol s;
    unsigned char *use;
    bool asks = false;
    for (size_t i = 0; i < HOOKED; i++)
        h->use[i] &= DEFINED;
    for (size_t i = 0; elf_file_symbol(f, i, &s); i++) {
        asks |= !s.defined && (strcmp(s.name, "dladdr") == 0 || strcmp(s.name, "dladdr1") == 0);
        if (!s.defined && (use = use_of(h, s.name)) != NULL && elf_file_takes_address(f, i))
            *use |= s.weak ? WEAK | TAKEN : TAKEN;
    }
    return asks;
}

/* "ncclAllReduce and 2 others": whose use has all of these bits, and none of those. NULL: none. */
static const char *names_of(struct app *p, const struct hooks *h, unsigned with, unsigned without)
{
    const char *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < HOOKED; i++) {
        if ((h->use[i] & with) == with && (h->use[i] & without) == 0)
            first = n++ == 0 ? h->name[i] : first;
    }
    if (n < 2)
        return first;
    return arena_printf(p->arena, "%s and %zu other%s", first, n - 1, n > 2 ? "s" : "");
}

/* The objects of one kind of finding: the first by name, and the number of others. */
struct named_object {
    const char *object, *functions;
    size_t others;
};

static void add_name(struct named_object *n, const struct app *p, size_t object,
                     const char *functions)
{
    const char *shown =
        object == 0 ? p->path : p->objects[object].path; /* the program: as called */
    if (functions != NULL && n->object == NULL)
        *n = (struct named_object){shown, functions, 0};
    else if (functions != NULL)
        n->others++;
}

/* " (and 2 other files)": one line is enough for a job that loads a hundred libraries. */
static const char *others_of(struct app *p, const struct named_object *n)
{
    if (n->others == 0)
        return "";
    return arena_printf(p->arena, " (and %zu other file%s)", n->others, n->others > 1 ? "s" : "");
}

void app_check_symbols(struct app *p)
{
    static const char *const names[] = {
#define HOOK(_lib, _ret, _fn, _params, _args, _record) #_fn,
#include "../tracer/hooks.def"
    };
    struct named_object weak = {0}, taken = {0};
    struct hooks h = {.use = {0}};
    struct elf_file f;
    memcpy(h.name, names, sizeof names);
    qsort(h.name, HOOKED, sizeof *h.name, compare_names);
    for (size_t i = 0; i < p->object_count; i++) {
        if (elf_file_open(&f, p->objects[i].path, NULL) == 0)
            note_definitions(&h, &f);
        elf_file_close(&f);
    }
    for (size_t i = 0; i < p->object_count; i++) {
        bool asks;
        if (elf_file_open(&f, p->objects[i].path, NULL) < 0)
            continue;
        asks = note_references(&h, &f);
        elf_file_close(&f);
        add_name(&weak, p, i, names_of(p, &h, WEAK, DEFINED));
        add_name(&taken, p, i, asks ? names_of(p, &h, TAKEN | DEFINED, 0) : NULL);
    }
    if (weak.object != NULL)
        add_finding(p, APP_DIFFERS, "ask dlsym() instead, or run it untraced",
                    "'%s'%s tests a weak %s, which no library has: traced it is there", weak.object,
                    others_of(p, &weak), weak.functions);
    if (taken.object != NULL)
        add_finding(p, APP_DIFFERS, "run it untraced if it needs that name",
                    "'%s'%s takes the address of %s, for which dladdr() names libspecter.so",
                    taken.object, others_of(p, &taken), taken.functions);
}

/* The reason why the loader preloads nothing into this program ("setuid", ...); NULL: it does
 * preload. */
static const char *privileged(const char *path)
{
    struct stat st;
    struct statvfs fs;
    if (stat(path, &st) < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
        (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID) != 0))
        return NULL;
    if (st.st_mode & S_ISUID && st.st_uid != getuid())
        return "setuid";
    if (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getgid())
        return "setgid";
    if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
        return "privileged by file capabilities";
    return NULL;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool is_asan(const char *path)
{
    const char *file = path_base_name(path);
    return starts_with(file, "libasan.so") || starts_with(file, "libclang_rt.asan");
}

size_t app_asan_in_front(const char *list)
{
    char first[PATH_MAX];
    size_t skipped = strspn(list, " :"), len = strcspn(list + skipped, " :");
    snprintf(first, sizeof first, "%.*s", (int)len, list + skipped);
    return is_asan(first) ? skipped + len : 0;
}

/* ---- by the program's file alone ---- */

static void check_processor(struct app *p, const struct elf_file *f)
{
    struct elf_file library;
    unsigned machine = elf_file_own_machine();
    if (p->library != NULL && elf_file_open(&library, p->library, NULL) == 0) {
        machine = library.machine;
        elf_file_close(&library);
    }
    if (f->foreign || f->machine != machine)
        add_finding(p, APP_REFUSED, "use a libspecter.so built for that, or " UNTRACED,
                    "'%s' is for %u-bit %s, and libspecter.so for %s", p->path, f->bits,
                    elf_file_machine_name(f->machine), elf_file_machine_name(machine));
}

/* The loader itself has no interpreter either, but it loads what it is told to. */
static void check_static(struct app *p, const struct elf_file *f)
{
    if (f->interpreter == NULL && (f->soname == NULL || !starts_with(f->soname, "ld")))
        add_finding(p, APP_UNSEEN, "link it dynamically to trace it",
                    "'%s' is static: no loader runs that could preload anything", p->path);
}

static void check_c_library(struct app *p, const struct elf_file *f)
{
    static const struct {
        const char *loader, *name;
    } others[] = {
        {"ld-musl", "musl"},
        {"ld-uClibc", "uClibc"},
        {"ld64-uClibc", "uClibc"},
        {"linker", "Android's C library"},
    };
    const char *loader = f->interpreter != NULL ? path_base_name(f->interpreter) : "";
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (starts_with(loader, others[i].loader)) {
            add_finding(p, APP_REFUSED, "build it for glibc, or " UNTRACED,
                        "'%s' is linked to %s, and libspecter.so to glibc", p->path,
                        others[i].name);
            return;
        }
    }
}

static void check_privileged(struct app *p, const struct elf_file *f)
{
    const char *why = privileged(p->file);
    (void)f;
    if (why != NULL)
        add_finding(p, APP_REFUSED,
                    "run a copy without those rights, or specter with them (sudo specter ...)",
                    "'%s' is %s: the loader preloads nothing into it", p->path, why);
}

/* ---- by what it loads at its start ---- */

/* Returns whether the runtime checks the order at all. */
static bool order_is_checked(void)
{
    static const char *const off[] = {"=0", "=false", "=no"};
    const char *options = getenv("ASAN_OPTIONS"), *name = "verify_asan_link_order", *said;
    said = options != NULL ? strstr(options, name) : NULL;
    for (size_t i = 0; said != NULL && i < sizeof off / sizeof *off; i++) {
        if (starts_with(said + strlen(name), off[i]))
            return false;
    }
    return true;
}

/* The runtime of AddressSanitizer ends the program when another library is in front of it. Those of
 * the other sanitizers do not care, and clang links all of them statically unless told otherwise.
 */
static void check_sanitizer(struct app *p)
{
    const char *preload = getenv("LD_PRELOAD"), *had = preload != NULL ? preload : "";
    if (!order_is_checked() || app_asan_in_front(had) > 0)
        return;
    for (size_t i = 0; i < p->object_count; i++) {
        const char *runtime = p->objects[i].path;
        if (!is_asan(runtime))
            continue;
        add_finding(p, APP_REFUSED,
                    arena_printf(p->arena, "export LD_PRELOAD=%s%s%s", runtime,
                                 had[0] != '\0' ? ":" : "", had),
                    "'%s' needs AddressSanitizer's runtime in front of all libraries", p->path);
        return;
    }
}

/* A program may bring a loader and a C library of its own. */
static void check_glibc(struct app *p)
{
    const char *libc = NULL;
    struct elf_file f;
    unsigned need = 0, have = 0;
    for (size_t i = 0; i < p->object_count && libc == NULL; i++) {
        if (strcmp(p->objects[i].name, "libc.so.6") == 0)
            libc = p->objects[i].path;
    }
    if (p->library != NULL && elf_file_open(&f, p->library, NULL) == 0) {
        need = elf_file_glibc(&f, "libc.so.6");
        elf_file_close(&f);
    }
    if (libc != NULL && elf_file_open(&f, libc, NULL) == 0) {
        have = elf_file_glibc_provided(&f);
        elf_file_close(&f);
    }
    if (have != 0 && need > have)
        add_finding(p, APP_REFUSED, "build specter by 'make release', or " UNTRACED,
                    "'%s' has '%s' up to GLIBC_%u.%u, and libspecter.so needs GLIBC_%u.%u", p->path,
                    libc, have / 1000, have % 1000, need / 1000, need % 1000);
}

static void (*const by_file[])(struct app *p, const struct elf_file *f) = {
    check_processor,
    check_static,
    check_c_library,
    check_privileged,
};

static void (*const by_objects[])(struct app *p) = {
    check_sanitizer,
    check_glibc,
    app_check_symbols,
};

bool app_check(struct app *p)
{
    struct elf_file f;
    if (elf_file_open(&f, p->file, NULL) < 0)
        return false;
    for (size_t i = 0; i < sizeof by_file / sizeof *by_file && p->finding_count == 0; i++)
        by_file[i](p, &f);
    elf_file_close(&f);
    if (p->finding_count > 0)
        return false;
    p->own_loader = find_own_loader(p);
    add_object(p, p->file, p->file, 0);
    walk_from(p, 0);
    for (size_t i = 0; i < sizeof by_objects / sizeof *by_objects && p->finding_count == 0; i++)
        by_objects[i](p);
    return p->finding_count == 0 || p->findings[0].effect == APP_DIFFERS;
}

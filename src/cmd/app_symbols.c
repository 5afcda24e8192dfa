/* SPDX-License-Identifier: MIT
 *
 * What a preload cannot keep. libspecter.so exports the hooked names, so that
 *
 * - a weak reference to one that nothing else defines at the start is NULL untraced, and traced it
 * is not: `if (ncclAllReduce)` becomes true;
 * - the address of a hooked function is the wrapper's in code that is linked to it, so that
 * dladdr() names libspecter.so for it.
 *
 * Both are seen in the relocations of what the loader loads at the start. What is opened later is
 * not there yet.
 */
#include "cmd/app.h"

#include "base/arena.h"
#include "base/elf_file.h"

#include <stdlib.h>
#include <string.h>

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

static void hooks_init(struct hooks *h)
{
    static const char *const names[] = {
#define HOOK(_lib, _ret, _fn, _params, _args, _record) #_fn,
#include "../tracer/hooks.def"
    };
    memcpy(h->name, names, sizeof names);
    memset(h->use, 0, sizeof h->use);
    qsort(h->name, HOOKED, sizeof *h->name, compare_names);
}

/* What is known of the hooked function of this name; NULL: it is none. */
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

/* The program by the name it was called. */
static const char *shown(const struct app *p, size_t object)
{
    return object == 0 ? p->path : p->objects[object].path;
}

/* What one kind of finding names: its first object, and how many more there are. */
struct named_object {
    const char *object, *functions;
    size_t others;
};

static void add_name(struct named_object *n, const struct app *p, size_t object,
                     const char *functions)
{
    if (functions != NULL && n->object == NULL)
        *n = (struct named_object){shown(p, object), functions, 0};
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

static void check_object(struct app *p, size_t object, struct hooks *h, struct named_object *weak,
                         struct named_object *taken)
{
    struct elf_file f;
    bool asks;
    if (elf_file_open(&f, p->objects[object].path, NULL) < 0)
        return;
    asks = note_references(h, &f);
    elf_file_close(&f);
    add_name(weak, p, object, names_of(p, h, WEAK, DEFINED));
    add_name(taken, p, object, asks ? names_of(p, h, TAKEN | DEFINED, 0) : NULL);
}

void app_check_symbols(struct app *p)
{
    struct named_object weak = {0}, taken = {0};
    struct hooks h;
    hooks_init(&h);
    for (size_t i = 0; i < p->object_count; i++) {
        struct elf_file f;
        if (elf_file_open(&f, p->objects[i].path, NULL) == 0)
            note_definitions(&h, &f);
        elf_file_close(&f);
    }
    for (size_t i = 0; i < p->object_count; i++)
        check_object(p, i, &h, &weak, &taken);
    if (weak.object != NULL)
        app_add_finding(p, APP_DIFFERS, "ask dlsym() instead, or run it untraced",
                        "'%s'%s tests a weak %s, which no library has: traced it is there",
                        weak.object, others_of(p, &weak), weak.functions);
    if (taken.object != NULL)
        app_add_finding(p, APP_DIFFERS, "run it untraced if it needs that name",
                        "'%s'%s takes the address of %s, for which dladdr() names libspecter.so",
                        taken.object, others_of(p, &taken), taken.functions);
}

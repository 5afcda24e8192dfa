/* SPDX-License-Identifier: MIT
 *
 * Of `specter doctor`: what a program's file says, and the files of all that it needs. Nothing is
 * run or loaded.
 */
#include "base/child.h"
#include "base/elf_file.h"
#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/doctor.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCRIPTS_MAX 4    /* a script's interpreter may be a script */
#define OBJECTS_MAX 4096 /* a program needs fewer */

/* ---- from a name to the program that would run ---- */

/* The interpreter that the first line names; through `env`, what that would find. false: it is no
 * script. */
static bool interpreter_of(const char *path, char *name, size_t size)
{
    char line[512], *word, *rest;
    FILE *in = fopen(path, "r");
    bool script = in != NULL && fgets(line, sizeof line, in) != NULL && strncmp(line, "#!", 2) == 0;
    const char *base;
    if (in != NULL)
        fclose(in);
    if (!script || (word = strtok_r(line + 2, " \t\n", &rest)) == NULL)
        return false;
    base = strrchr(word, '/') != NULL ? strrchr(word, '/') + 1 : word;
    if (strcmp(base, "env") == 0) {
        do
            word = strtok_r(NULL, " \t\n", &rest);
        while (word != NULL && (*word == '-' || strchr(word, '=') != NULL));
    }
    if (word == NULL)
        return false;
    snprintf(name, size, "%s", word);
    return true;
}

static void note_python(struct doctor *d, const char *path, const char **python)
{
    if (*python == NULL && doctor_is_python(path))
        *python = arena_strdup(&d->arena, path);
}

/* false, after saying so: there is no such program. *python: the first on the way that is called
 * so, or NULL; it knows its packages, which the file behind a link no longer does. */
static bool find_program(struct doctor *d, const char *name, char path[PATH_MAX],
                         const char **python)
{
    char interpreter[512];
    *python = NULL;
    if (!child_find(name, X_OK, path, PATH_MAX)) {
        doctor_say(d, DOCTOR_PROBLEM, "program", "check its name and PATH",
                   "'%s' is not there, or cannot be executed", name);
        return false;
    }
    note_python(d, path, python);
    for (int i = 0; i < SCRIPTS_MAX && interpreter_of(path, interpreter, sizeof interpreter); i++) {
        const char *script = arena_strdup(&d->arena, path);
        if (!child_find(interpreter, X_OK, path, PATH_MAX)) {
            doctor_say(d, DOCTOR_PROBLEM, "program", "install it",
                       "'%s' is a script for '%s', which is not there", script, interpreter);
            return false;
        }
        doctor_say(d, DOCTOR_OK, "program", NULL, "'%s' is a script for '%s'", script, path);
        note_python(d, path, python);
    }
    return true;
}

/* ---- can anything be preloaded into it? ---- */

static unsigned own_machine(void)
{
    struct elf_file f;
    unsigned machine = EM_NONE;
    if (elf_file_open(&f, "/proc/self/exe", NULL) == 0) {
        machine = f.machine;
        elf_file_close(&f);
    }
    return machine;
}

/* false, after saying why not. */
static bool takes_preloads(struct doctor *d, const char *path, const struct elf_file *f)
{
    const char *privileged = cmd_privileged(path);
    if (f->foreign || f->machine != own_machine()) {
        doctor_say(d, DOCTOR_PROBLEM, "program", "use a libspecter.so built for that",
                   "'%s' is for %u-bit %s", path, f->bits, elf_file_machine_name(f->machine));
        return false;
    }
    if (!f->dynamic || f->interpreter == NULL) {
        doctor_say(d, DOCTOR_PROBLEM, "program", "link it dynamically",
                   "'%s' is static: no loader runs that could preload anything", path);
        return false;
    }
    if (privileged != NULL) {
        doctor_say(d, DOCTOR_PROBLEM, "program", "run a copy without those rights",
                   "'%s' is %s: the loader preloads nothing into it", path, privileged);
        return false;
    }
    return true;
}

/* ---- all that it needs ---- */

/* A file that is loaded. */
struct object {
    const char *path, *name; /* as found, and as the one that needs it calls it */
    const char *rpath;       /* NULL: none, or a RUNPATH takes its place */
    size_t parent;           /* which object needs it; the program: itself */
};

/* The objects of a program in the order in which the loader meets them. */
struct needs {
    struct doctor *d;
    struct object *objects;
    size_t count, cap;
    struct doctor_dirs missing; /* names */
};

/* Adds the folders of an RPATH or RUNPATH, $ORIGIN being the object's own. */
static void add_run_path(struct needs *n, struct doctor_dirs *dirs, const char *list,
                         const char *object)
{
    const char *slash = strrchr(object, '/');
    struct arena *a = &n->d->arena;
    const char *origin = slash != NULL ? arena_strndup(a, object, (size_t)(slash - object)) : ".";
    while (list != NULL && *list != '\0') {
        size_t len = strcspn(list, ":");
        const char *dir = arena_strndup(a, list, len);
        if (strncmp(dir, "$ORIGIN", 7) == 0)
            dir = arena_printf(a, "%s%s", origin, dir + 7);
        else if (strncmp(dir, "${ORIGIN}", 9) == 0)
            dir = arena_printf(a, "%s%s", origin, dir + 9);
        if (len > 0)
            doctor_add(dirs, dir);
        list += len + (list[len] != '\0');
    }
}

/* The folders in which the loader looks for what an object needs, in its order: the RPATHs of the
 * object and of those that it was needed by, LD_LIBRARY_PATH, the RUNPATH of the object alone, its
 * cache (taken for the folders that are in it), its own. An object with a RUNPATH has no RPATHs. */
static void search_order(struct needs *n, size_t of, const char *runpath, struct doctor_dirs *order)
{
    const struct doctor_dirs *loader = &n->d->loader;
    const struct object *o = &n->objects[of];
    for (; runpath == NULL; o = &n->objects[o->parent]) {
        add_run_path(n, order, o->rpath, o->path);
        if (o == n->objects)
            break;
    }
    for (size_t i = 0; i < n->d->from_environment; i++)
        doctor_add(order, loader->dirs[i]);
    add_run_path(n, order, runpath, n->objects[of].path);
    for (size_t i = n->d->from_environment; i < loader->count; i++)
        doctor_add(order, loader->dirs[i]);
}

static const char *locate(struct needs *n, const char *name, const struct doctor_dirs *order)
{
    char full[PATH_MAX];
    if (strchr(name, '/') != NULL)
        return realpath(name, full) != NULL ? arena_strdup(&n->d->arena, full) : NULL;
    for (size_t i = 0; i < order->count; i++) {
        const char *path = arena_printf(&n->d->arena, "%s/%s", order->dirs[i], name);
        struct elf_file f;
        bool usable = elf_file_open(&f, path, NULL) == 0;
        usable = usable && !f.foreign;
        elf_file_close(&f);
        if (usable && realpath(path, full) != NULL)
            return arena_strdup(&n->d->arena, full);
    }
    return NULL;
}

/* What such libraries are called: both have NCCL's functions. */
static const char *const stems[] = {"libnccl", "librccl"};
#define STEMS (sizeof stems / sizeof *stems)

static bool is_nccl(const char *path)
{
    for (size_t i = 0; i < STEMS; i++) {
        if (doctor_is_library(path, stems[i]))
            return true;
    }
    return false;
}

static void check_object(struct needs *n, const char *path, const struct elf_file *f)
{
    if (!is_nccl(path) &&
        (elf_file_defines(f, "ncclAllReduce") || elf_file_defines(f, "pncclAllReduce")))
        doctor_say(n->d, DOCTOR_PROBLEM, "static nccl", "link it to libnccl.so.2",
                   "'%s' has NCCL linked in: its calls may not be seen", path);
}

static void add_object(struct needs *n, const char *path, const char *name, size_t parent)
{
    for (size_t i = 0; i < n->count; i++) {
        if (strcmp(n->objects[i].path, path) == 0)
            return;
    }
    if (n->count == OBJECTS_MAX)
        return;
    ARRAY_GROW(n->objects, n->cap, n->count + 1);
    n->objects[n->count++] = (struct object){path, name, NULL, parent};
}

/* The loader looks for a name once. */
static bool is_there(const struct needs *n, const char *name)
{
    for (size_t i = 0; i < n->count; i++) {
        if (strcmp(n->objects[i].name, name) == 0)
            return true;
    }
    return false;
}

/* The objects that this one needs are added behind all others. */
static void add_needed(struct needs *n, size_t of, const struct elf_file *f)
{
    struct doctor_dirs order = {NULL, 0, 0};
    const char *name, *found;
    if (f->runpath == NULL && f->rpath != NULL)
        n->objects[of].rpath = arena_strdup(&n->d->arena, f->rpath);
    search_order(n, of, f->runpath, &order);
    for (size_t i = 0; (name = elf_file_needed(f, i)) != NULL; i++) {
        if (is_there(n, name))
            continue;
        name = arena_strdup(&n->d->arena, name);
        found = locate(n, name, &order);
        if (found == NULL)
            doctor_add(&n->missing, name);
        else
            add_object(n, found, name, of);
    }
    free(order.dirs);
}

static void walk(struct needs *n, size_t from)
{
    for (size_t i = from; i < n->count; i++) {
        struct elf_file f;
        if (elf_file_open(&f, n->objects[i].path, NULL) < 0)
            continue;
        check_object(n, n->objects[i].path, &f);
        add_needed(n, i, &f);
        elf_file_close(&f);
    }
}

/* false: the program is not linked to that library. */
static bool report_linked(struct needs *n, const char *stem)
{
    struct doctor_dirs copies = {NULL, 0, 0};
    bool linked;
    for (size_t i = 0; i < n->count; i++) {
        if (doctor_is_library(n->objects[i].path, stem))
            doctor_add(&copies, n->objects[i].path);
    }
    linked = copies.count > 0;
    if (linked)
        doctor_copies(n->d, &n->d->loader, stem, &copies);
    if (copies.count > 1)
        doctor_say(n->d, DOCTOR_WARNING, stem + 3,
                   "make sure that both ends of a job load the same",
                   "'%s' finds %s first, and %s is there too", n->objects[0].path, copies.dirs[0],
                   copies.dirs[1]);
    else if (linked)
        doctor_say(n->d, DOCTOR_OK, stem + 3, NULL, "%s, linked", copies.dirs[0]);
    free(copies.dirs);
    return linked;
}

static bool report_all_linked(struct needs *n)
{
    bool linked = false;
    for (size_t i = 0; i < STEMS; i++)
        linked |= report_linked(n, stems[i]);
    return linked;
}

static void report_missing(struct needs *n)
{
    for (size_t i = 0; i < n->missing.count; i++)
        doctor_say(n->d, DOCTOR_WARNING, "needs", "set LD_LIBRARY_PATH as for a run",
                   "'%s' is needed and not found", n->missing.dirs[i]);
}

/* What a training program's calls go to. */
static void report_loaded(struct needs *n)
{
    static const char *const of_gpu[] = {"libcudart", "libcublas",   "libcublasLt",
                                         "libnccl",   "libamdhip64", "librccl"};
    for (size_t s = 0; s < sizeof of_gpu / sizeof *of_gpu; s++) {
        for (size_t i = 0; i < n->count; i++) {
            const char *path = n->objects[i].path;
            if (doctor_is_library(path, of_gpu[s]))
                doctor_say(n->d, DOCTOR_OK, of_gpu[s] + 3, NULL, "%s (version %s), by torch", path,
                           doctor_version(n->d, path));
        }
    }
}

/* Python links to nothing of a GPU, but PyTorch does: what the import would load. false: there is
 * none. */
static bool walk_torch(struct needs *n, const char *python)
{
    struct doctor_torch torch;
    size_t before = n->count;
    if (python == NULL || !doctor_find_torch(n->d, python, &torch))
        return false;
    doctor_say(n->d, DOCTOR_OK, "torch", NULL, "%s (version %s)", torch.folder, torch.version);
    add_object(n, torch.module, torch.module, 0);
    walk(n, before);
    report_loaded(n);
    return true;
}

static void report(struct needs *n, const char *python)
{
    bool linked = report_all_linked(n), loaded = !linked && walk_torch(n, python);
    report_missing(n);
    if (!linked && !loaded)
        doctor_say(n->d, DOCTOR_OK, "nccl", NULL,
                   "not linked: what the program loads while it runs is seen then");
}

void doctor_check_program(struct doctor *d, const char *name)
{
    struct needs n = {.d = d};
    struct elf_file f;
    struct err why;
    char path[PATH_MAX], full[PATH_MAX];
    const char *python;
    bool can;
    if (!find_program(d, name, path, &python))
        return;
    if (realpath(path, full) == NULL || elf_file_open(&f, full, &why) < 0) {
        doctor_say(d, DOCTOR_PROBLEM, "program", NULL, "'%s' is neither a program nor a script",
                   path);
        return;
    }
    can = takes_preloads(d, full, &f);
    elf_file_close(&f);
    if (!can)
        return;
    doctor_say(d, DOCTOR_OK, "program", NULL, "%s", full);
    add_object(&n, full, full, 0);
    walk(&n, 0);
    report(&n, python);
    free(n.objects);
    free(n.missing.dirs);
}

/* SPDX-License-Identifier: MIT
 *
 * Of a program: all that the loader loads at its start.
 */
#include "cmd/app.h"

#include "base/arena.h"
#include "base/elf_file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

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

/* The loader looks for a name once. */
static bool is_there(const struct app *p, const char *name)
{
    for (size_t i = 0; i < p->object_count; i++) {
        if (strcmp(p->objects[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool is_ours(const struct app *p, const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash != NULL ? slash + 1 : path, "libspecter.so") == 0 ||
           (p->library != NULL && strcmp(path, p->library) == 0);
}

/* What others that need the library call it. */
static const char *name_of(struct app *p, const char *path)
{
    struct elf_file f;
    const char *name = path;
    if (elf_file_open(&f, path, NULL) == 0 && f.soname != NULL)
        name = arena_strdup(p->arena, f.soname);
    elf_file_close(&f);
    return name;
}

static void add_preloads(struct app *p, const struct dir_list *order)
{
    const char *list = getenv("LD_PRELOAD");
    while (list != NULL && *(list += strspn(list, " :")) != '\0') {
        size_t len = strcspn(list, " :");
        const char *name = arena_strndup(p->arena, list, len);
        const char *found = loader_file(order, p->arena, name);
        if (found != NULL && !is_ours(p, found))
            add_object(p, found, name_of(p, found), 0);
        list += len;
    }
}

/* The objects that this one needs are added behind all others. */
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
        if (is_there(p, name))
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

static void walk_from(struct app *p, size_t first)
{
    for (size_t i = first; i < p->object_count; i++) {
        struct elf_file f;
        if (elf_file_open(&f, p->objects[i].path, NULL) == 0)
            add_needed(p, i, &f);
        elf_file_close(&f);
    }
}

void app_walk(struct app *p)
{
    p->own_loader = find_own_loader(p);
    add_object(p, p->file, p->file, 0);
    walk_from(p, 0);
}

void app_walk_library(struct app *p, const char *path)
{
    size_t before = p->object_count;
    add_object(p, path, path, 0);
    walk_from(p, before);
}

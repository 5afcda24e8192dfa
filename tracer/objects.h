/* SPDX-License-Identifier: MIT
 *
 * Objects that are loaded in this process, read from their own dynamic sections: the symbols of one
 * (elf.c), and the list of all (objects.c). Nothing is asked of the loader, and nothing changes.
 */
#ifndef SPECTER_TRACER_OBJECTS_H
#define SPECTER_TRACER_OBJECTS_H

#include <link.h>
#include <stdbool.h>

typedef void (*function)(void);

/* ---- one object ----
 *
 * For what dlsym() cannot be asked, because we stand in its place. Nothing is allocated or locked,
 * and everything works before any constructor has run. */

/* The function that the object itself defines under this name, in its default version; NULL: none.
 */
void *elf_function(const struct link_map *object, const char *name);

/* The version of that function there, NULL: it has none. Belongs to the object. */
const char *elf_version(const struct link_map *object, const char *name);

/* Returns whether the object's reference to `name` is bound when it is first called: it has an
 * entry of the procedure linkage table, and the object was loaded so. */
bool elf_is_bound_lazily(const struct link_map *object, const char *name);

/* Returns whether the object is the dynamic loader itself. */
bool elf_is_loader(const struct link_map *object);

/* Returns whether the object refers to `name`, which it does not define. *version is the version
 * that the reference asks for, NULL for none, and belongs to the object. */
bool elf_refers(const struct link_map *object, const char *name, const char **version);

/* Returns whether the object's dynamic section has an entry `tag` (DT_NEEDED, DT_SONAME) of this
 * text. */
bool elf_has_entry(const struct link_map *object, ElfW(Sxword) tag, const char *text);

/* The names of the libraries that the object needs (DT_NEEDED), one after the other: NULL after
 * the last. *at is NULL for the first. */
const char *elf_needed(const struct link_map *object, const ElfW(Dyn) * *at);

/* The names that others may need the object by: that of its file, and its SONAME, NULL for none. A
 * library opened as libnccl.so.2.28.9 may be needed as libnccl.so.2. */
const char *elf_file(const struct link_map *object);
const char *elf_soname(const struct link_map *object);

/* strcmp(), which a sanitizer replaces, and which is not ready when that, just starting, calls
 * dlsym(). */
int elf_compare(const char *a, const char *b);

/* ---- all objects ----
 *
 * Finds one function in the loader's list of objects: the objects that define it, those that refer
 * to it, and the libraries that its caller needs. Read from the objects' dynamic sections alone;
 * nothing is asked of the loader, and nothing changes.
 *
 * The list is in the order of loading. A dlopen() appends the object it was asked for and, after
 * it, what that needs and was not there yet. So an object that no earlier one needs began a
 * dlopen(), and what follows, up to the next of these, came with it. Of more than 1,024 objects
 * the last are not seen.
 *
 * These functions hold the loader's list locked while they look; none may be called in a
 * callback of dl_iterate_phdr(). */

/* Functions are NULL where there is none of the kind. */
struct definitions {
    int count;      /* objects that define the function, ours left out */
    function first; /* of these */
    function own;   /* the caller's own definition */
    bool stays;     /* the first is there as long as the caller is */
    bool is_plain;  /* one definition that stays; nothing below is looked for then */

    bool is_referred;    /* by the caller */
    const char *version; /* that the reference asks for, the caller's; NULL: none */
    bool is_bound_early; /* the reference was bound when the caller was loaded, not at a call */

    /* For a caller that neither refers to the function nor defines it: the first definition in the
     * scopes of those that refer to it, if they agree; whether all of them ask for a version. */
    function of_others;
    bool others_ask_versions;
};

/* Fills *d with what there is of `name` for a call from the object `caller`; NULL: not known. */
void objects_definitions(struct definitions *d, const char *name, const struct link_map *caller);

/* The first definition in all that the dlopen() which brought the caller brought in. */
function objects_in_scope(const char *name, const char *version, const struct link_map *caller);

/* The first definition that was loaded after the caller: what came with it, where the object that
 * brought both has been unloaded since. */
function objects_behind(const char *name, const struct link_map *caller);

/* Returns whether the object that holds `real` was loaded by a later dlopen() than the caller. */
bool objects_came_later(function real, const struct link_map *caller);

/* Returns whether it was loaded later than all objects that refer to `name`, whose references were
 * bound by then. */
bool objects_came_later_for_all(function real, const char *name);

#endif

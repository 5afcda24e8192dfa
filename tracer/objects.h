/* SPDX-License-Identifier: MIT
 *
 * What the loader's list of objects tells of one function: who defines it, who refers to it, and
 * what the object that calls it needs. Read from the objects' dynamic sections alone; nothing is
 * asked of the loader, and nothing changes.
 *
 * The list is in the order of loading. A dlopen() appends the object it was asked for and, after
 * it, what that needs and was not there yet. So an object that no earlier one needs began a
 * dlopen(), and what follows, up to the next of these, came with it. Of more than 1,024 objects
 * the last are not seen.
 *
 * These functions hold the loader's list locked while they look; none may be called in a
 * callback of dl_iterate_phdr().
 */
#ifndef SPECTER_TRACER_OBJECTS_H
#define SPECTER_TRACER_OBJECTS_H

#include "answers.h"

#include <link.h>
#include <stdbool.h>

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

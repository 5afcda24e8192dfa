/* SPDX-License-Identifier: MIT
 *
 * Two runs made one: what was read from one file (a part) goes behind what a run holds already.
 *
 *     name_map_init(&names, &run->names, &part.names);      both under the run's lock,
 *     run_rename(&part, &names);                            this beside other threads
 *     run_absorb(run, &part);
 *
 * Texts are interned in the run and communicators found there by their id. A part is what a reader
 * left behind, before run_finish(). Who adds a field to struct run or struct rank that names a
 * communicator, or a text that is compared by its pointer, adds it in run_absorb.c too; other texts
 * stay valid by themselves, since the run takes over the part's arena.
 */
#ifndef SPECTER_TRACE_RUN_ABSORB_H
#define SPECTER_TRACE_RUN_ABSORB_H

#include "trace/run.h"

/* Texts of a part to the same texts of the run. */
struct name_map {
    struct name_pair {
        const char *from, *to;
    } * slots; /* owned; found by the pointer */
    size_t nslots;
};

void name_map_init(struct name_map *m, struct intern *into, const struct intern *from);
void name_map_release(struct name_map *m);

/* Puts the run's texts in place of the part's own, everywhere in the part. */
void run_rename(struct run *part, const struct name_map *names);

/* Moves everything of the part, which is empty and released then. */
void run_absorb(struct run *run, struct run *part);

#endif

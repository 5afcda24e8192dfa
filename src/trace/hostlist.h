/* SPDX-License-Identifier: MIT
 *
 * Slurm's short forms of lists: names of nodes ("nid[001-003,007],x1", also with several brackets)
 * and tasks of each ("4(x2),3").
 */
#ifndef SPECTER_TRACE_HOSTLIST_H
#define SPECTER_TRACE_HOSTLIST_H

#include <stddef.h>
#include <stdint.h>

#define HOSTLIST_MAX 65536    /* names in one list */
#define HOSTLIST_NAME_MAX 255 /* bytes of one */

/* Calls `add` with each name, valid during the call, in the list's order. 0; -1 where the text is
 * no such list or has too many or too long names: those before have been given. */
int hostlist_expand(const char *text, size_t len, void (*add)(void *arg, const char *name),
                    void *arg);

/* Calls `add` with the number of each node, in order. 0; -1 likewise. */
int tasklist_expand(const char *text, size_t len, void (*add)(void *arg, int64_t tasks), void *arg);

#endif

/* SPDX-License-Identifier: MIT
 *
 * A small YAML or JSON document as a list of its scalars, each with the path of keys to it:
 * "workload.data.seq_len" -> "4096". Items of lists have the path of their list.
 */
#ifndef SPECTER_METRICS_CARD_TREE_H
#define SPECTER_METRICS_CARD_TREE_H

#include "base/arena.h"
#include "base/err.h"

#include <stddef.h>

struct card_value {
    const char *path, *text; /* in the arena */
    int line;                /* from 1; 0 not known */
};

struct card_tree {
    struct arena arena;
    struct card_value *list; /* owned */
    size_t count, cap;
};

/* JSON where it begins with {, else YAML (libyaml; without it ERR_INPUT says so). Nesting and the
 * number of values are bounded; aliases are refused. 0, or -1 with e filled (file and line). `tree`
 * starts zeroed and is to be released in either case. */
int card_tree_parse(struct card_tree *tree, const char *text, size_t len, const char *name,
                    struct err *e);
void card_tree_release(struct card_tree *tree);

#endif

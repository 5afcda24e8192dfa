/* SPDX-License-Identifier: MIT
 *
 * Reads a kernel's name: its class (specter_kernel_class_of() in specter/trace.h), and the
 * collective of a kernel that communicates. The tracer classes launches by it, readers of profiles
 * find communication by it. It allocates nothing.
 *
 * To add a kernel that communicates: a row in comm_kernels.def and its name in
 * tests/unit/test_comm_kernels.c. To add a word that names a class: a row of words[] in
 * kernel_class.c and a name in tests/unit/test_tracer_graph.c.
 */
#ifndef SPECTER_BASE_KERNEL_CLASS_H
#define SPECTER_BASE_KERNEL_CLASS_H

#include "specter/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A row of comm_kernels.def. */
struct comm_kernel {
    const char *part; /* of the name, in lower case; :: and ^ as there */
    enum specter_comm_op op;
    bool library; /* NCCL's, or of one of its kind, whose calls process groups record */
    int gpus; /* which number among the template's arguments is that of the GPUs, from 1; 0 none */
};

/* All rows, in order. */
const struct comm_kernel *specter_comm_kernels(size_t *count);

/* The first row that is in the name, mangled or not; NULL: none is. */
const struct comm_kernel *specter_comm_kernel_of(const char *name);

/* Where in the name the word begins, NULL: nowhere. In any case; the word is in lower case, :: and
 * ^ as in comm_kernels.def. */
const char *specter_kernel_find(const char *name, const char *word);

static inline bool specter_kernel_holds(const char *name, const char *word)
{
    return specter_kernel_find(name, word) != NULL;
}

/* ---- name_memo.c: apart from kernel_class.c, which the tracer links ----
 *
 * The class of a name, remembered: to find it takes a search for up to a hundred words, and a
 * recording has a few hundred names a million times. A memo belongs to one thread and starts as
 * zeros.
 *
 *     static _Thread_local struct name_memo memo;
 *     return (enum specter_copy)name_memo_get(&memo, name, class_of_copy); */

#define NAME_MEMO_SLOTS 1024

struct name_memo {
    struct name_memo_slot {
        uint64_t hash; /* of the name: those of templates have thousands of bytes */
        size_t len;    /* 0: an empty slot */
        uint8_t class;
    } slots[NAME_MEMO_SLOTS];
};

/* Returns classify(name), which is called where the memo does not have it. */
uint8_t name_memo_get(struct name_memo *m, const char *name, uint8_t (*classify)(const char *name));

/* specter_kernel_class_of(), remembered by each thread. */
enum specter_kernel_class kernel_class(const char *name);

#endif

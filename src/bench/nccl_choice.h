/* SPDX-License-Identifier: MIT
 *
 * What NCCL is told to take for collectives, and what it takes: NCCL_ALGO and NCCL_PROTO, which it
 * reads as each communicator is made, and its profiler interface, by which it names algorithm,
 * protocol and channels of each operation (modules/nccl_choice.c is the plugin).
 *
 *     bench_nccl_watch();                          before the first communicator
 *     bench_nccl_force("tree", "LL");  ...open...  bench_nccl_force(NULL, NULL);
 *     ... a collective that is over ...
 *     if (bench_nccl_chosen(&choice)) ...
 */
#ifndef SPECTER_BENCH_NCCL_CHOICE_H
#define SPECTER_BENCH_NCCL_CHOICE_H

#include "model/cost.h"

#include <stdbool.h>

/* What the plugin exports under this name. */
struct bench_nccl_choices {
    unsigned calls; /* 0: nothing was told */
    char algo[32], proto[16];
    int channels;
};

#define BENCH_NCCL_CHOICES specter_bench_nccl_choices

/* Makes NCCL open the plugin, unless the environment names another. Also removes from this
 * process's environment the variables that would force a choice: their names, one behind the other,
 * are in `taken` ("": none). */
void bench_nccl_watch(char *taken, size_t size);

/* For communicators that are made from now on; words of struct comm_choice, NULL: NCCL's own. */
void bench_nccl_force(const char *algo, const char *proto);

/* As NCCL's variables spell an algorithm: "nvls_tree" is NVLSTree. */
const char *bench_nccl_word(const char *algo);

/* What was taken since the last time that this was asked: false where NCCL tells nothing. */
bool bench_nccl_chosen(struct comm_choice *choice);

#endif

/* SPDX-License-Identifier: MIT
 *
 * predict --algo, --proto, --channels and --explain: which ways there are to do a collective, which
 * one is taken, and at what sizes that changes.
 */
#ifndef SPECTER_CMD_PREDICT_EXPLAIN_H
#define SPECTER_CMD_PREDICT_EXPLAIN_H

#include "cmd/predict.h"

/* ---- forced choices, read as NCCL reads NCCL_ALGO and NCCL_PROTO ---- */

struct predict_forced {
    unsigned algos, protos; /* bits by the names that parse knows; 0: not said */
    int channels;           /* 0: not said */
    const char *algo_text, *proto_text;
};

/* Names are spelled in any case ("NVLSTree", "nvls_tree"), several with commas; ^ in front takes
 * all but those. NULL: not said. */
int predict_forced_parse(const char *algos, const char *protos, struct predict_forced *out,
                         struct err *e);
bool predict_is_forced(const struct predict_forced *f);

/* Fills t->cost: what NCCL takes of what is left to it. A single named way is done even where NCCL
 * would not think of it by itself, if it can be done at all. */
int predict_choose(const struct predict_forced *f, struct predict_transfer *t, struct err *e);

/* ---- explanations ---- */

/* Every way to do t, NCCL's estimates beside our times. */
int predict_print_candidates(const struct predict_transfer *t, struct err *e);
int predict_add_candidates(struct cJSON *doc, const struct predict_transfer *t, struct err *e);

/* Answers for another size of the same question. */
struct predict_ask {
    int (*answer)(const void *question, uint64_t bytes, struct predict_transfer *out,
                  struct err *e);
    const void *question;
};

/* The sizes from `first` to `last` at which algorithm or protocol change, to the byte, and what the
 * time does there. `indent` begins each line. */
int predict_print_jumps(const struct predict_ask *ask, uint64_t first, uint64_t last,
                        const char *indent, struct err *e);
int predict_add_jumps(struct cJSON *doc, const struct predict_ask *ask, uint64_t first,
                      uint64_t last, struct err *e);

#endif

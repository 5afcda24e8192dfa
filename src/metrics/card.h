/* SPDX-License-Identifier: MIT
 *
 * A workload card: what a trace cannot tell of the job after it. YAML or JSON, with the keys that
 * the benchmark community's cards have, at their places or at the top level; docs/metrics.md lists
 * them. Unknown keys are passed over.
 *
 *     struct card card;
 *     if (card_read(&card, "workload_card.yaml", e) < 0) return -1;
 *     if (isfinite(card_tokens(&card))) ...
 */
#ifndef SPECTER_METRICS_CARD_H
#define SPECTER_METRICS_CARD_H

#include "base/arena.h"
#include "base/err.h"

#include <stddef.h>

/* X(field, keys, largest, what it is): numbers; NAN where the card does not say. Of several keys
 * with commas between, the first one there counts; a key is the end of a path. */
#define CARD_FIELDS(X)                                                                  \
    X(global_batch, "global_batch_size", 1e12, "sequences in a step of the whole job")  \
    X(local_batch, "local_batch_size,data.batch_size,batch_size", 1e12,                 \
      "sequences in a step of one data-parallel replica")                               \
    X(seq_len, "seq_len,sequence_length", 1e9, "tokens of a sequence")                  \
    X(params, "num_params,params", 1e16, "parameters of the model")                     \
    X(active_params, "num_active_params,active_params", 1e16,                           \
      "parameters that one token uses (mixture of experts)")                            \
    X(embedding_params, "num_params_embedding", 1e16, "of them in the embedding table") \
    X(layers, "num_layers,layers", 1e6, "transformer layers")                           \
    X(heads, "num_heads", 1e6, "attention heads")                                       \
    X(head_dim, "head_dim", 1e6, "size of one head")                                    \
    X(flops, "flops_per_step", 1e30,                                                    \
      "floating-point operations of a step, in place of the formula")                   \
    X(steps, "iteration,steps", 1e12, "steps of the job")                               \
    X(tp, "tp", 1e6, "tensor-parallel size")                                            \
    X(cp, "cp", 1e6, "context-parallel size")                                           \
    X(pp, "pp", 1e6, "pipeline stages")                                                 \
    X(ep, "ep", 1e6, "expert-parallel size")                                            \
    X(dp, "dp,data_parallel", 1e6, "data-parallel size")                                \
    X(dp_replicate, "dp_replicate", 1e6, "of it replicated")                            \
    X(dp_shard, "dp_shard", 1e6, "of it sharded")                                       \
    X(micro_batches, "micro_batches,num_microbatches", 1e9,                             \
      "micro-batches of a step in a pipeline")                                          \
    X(gpus, "total_count,gpus", 1e9, "GPUs of the job")

struct card {
#define X(field, keys, max, help) double field;
    CARD_FIELDS(X)
#undef X
    char precision[16]; /* "bf16"; "" not said */
    char family[64];    /* of the model; "" not said */
};

void card_init(struct card *card); /* says nothing */

/* 0, or -1 with e filled (ERR_INPUT): not read, not YAML or JSON, or a number that cannot be. */
int card_read(struct card *card, const char *path, struct err *e);

/* The same of the card that lies in a folder of traces (workload_card.yaml, .yml or .json); says
 * nothing where there is none. */
int card_find(struct card *card, const char *dir, struct err *e);

/* Size of the data-parallel axis; NAN. */
double card_dp(const struct card *card);

/* Sequences, and tokens, in a step of the whole job; NAN. */
double card_batch(const struct card *card);
double card_tokens(const struct card *card);

/* Model FLOPs of a step: 6 per parameter and token for forward and backward, and for attention
 * 12 x layers x heads x head_dim x seq_len a token (Chowdhery et al., PaLM, 2022, appendix B),
 * where the card has these; or as told. Nothing for what is computed anew. NAN. */
double card_flops(const struct card *card);

/* A small YAML or JSON document as a list of its scalars, each with the path of keys to it:
 * "workload.data.seq_len" -> "4096". Items of lists have the path of their list. */
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

/* SPDX-License-Identifier: MIT
 *
 * specter predict: what its kinds (collective, p2p, gemm) have in common. Each kind is one file
 * with its options, its question to the model and its answer; this is the rest.
 *
 *     predict.c           the kinds; --bytes as one size or a sweep; documents, assumptions
 *     predict_comm.c      a predicted transfer as text and JSON, many as nccl-tests' table; how far
 *                         a result may be trusted
 *     predict_explain.c   the ways to do a collective, and where the choice changes
 */
#ifndef SPECTER_CMD_PREDICT_H
#define SPECTER_CMD_PREDICT_H

#include "base/buf.h"
#include "cmd/hardware.h"
#include "cmd/cmd.h"
#include "model/accuracy.h"
#include "model/cost.h"

#define PREDICT_NO_NUMBER INT64_MIN /* not given, and no number that an option accepts */

struct cJSON;

extern const struct cmd_kind predict_collective, predict_p2p, predict_gemm;

/* -1 with e filled: the option is needed. */
int predict_missing(const char *option, struct err *e);

/* A type by its name here, in PyTorch or in nccl-tests: "bf16", "bfloat16"; "fp8" is fp8e4m3. */
int predict_dtype(const char *option, const char *text, enum specter_dtype *type, struct err *e);

/* ---- sizes ---- */

/* Bytes from `first` to `last`: each times `factor`, or `step` more than the one before. */
struct predict_sizes {
    uint64_t first, last, step; /* step 0: by factor */
    double factor;
    bool sweep;
};

/* text: --bytes as SIZE or FIRST:LAST. Every size can be told apart as a double. */
int predict_sizes_parse(const char *text, double factor, struct opt_bytes step,
                        struct predict_sizes *out, struct err *e);
uint64_t predict_sizes_next(const struct predict_sizes *s, uint64_t size);

/* ---- transfers ---- */

/* One answer: a collective, or a message (`op` SPECTER_SEND). */
struct predict_transfer {
    const struct profile_pair *on;
    enum specter_comm_op op;
    bool across;                   /* a message between nodes */
    enum comm_direction direction; /* of messages; of all pairs `where` says how many ranks */
    int flows;                     /* of messages: that many GPUs of the node send at once */
    double bytes;
    struct layout where;
    struct comm_cost cost;
    double bound_us; /* no transfer is faster, comm_bound() */
};

/* "AllReduce of 64 MiB by 16 ranks on 2 nodes of dgx_h100_400g, 8 a node; h100_sxm" */
void predict_print_title(const struct predict_transfer *t);

/* Everything else. */
void predict_print_transfer(const struct predict_transfer *t);
struct cJSON *predict_transfer_json(const struct predict_transfer *t);

/* Many answers: the table that nccl-tests prints, with what is our own after its columns, or a
 * JSON array. A terminal that is too narrow for it gets fewer columns. */
struct predict_rows {
    enum specter_dtype type; /* for the columns of counts and types */
    struct cJSON *array;     /* owned; NULL: a table */
    double busbw_sum;
    size_t count, extrapolated;
    size_t width; /* of a line */
    bool explain; /* with the candidates of each, in an array */
};

void predict_rows_init(struct predict_rows *r, enum specter_dtype type, bool explain, bool json);
int predict_rows_put(struct predict_rows *r, const struct predict_transfer *t, bool new_layout,
                     struct err *e);
void predict_rows_drop(struct predict_rows *r); /* instead of predict_rows_end(), after an error */
/* Prints what comes last, or the array. 0, or -1 with e filled. */
int predict_rows_end(struct predict_rows *r, struct err *e);

/* A row of an answer: its name, and a text that is broken where the line ends. */
void predict_print_row(const char *name, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- how far to trust it ----
 *
 * The fitted parameters that a result rests on. */
struct predict_trust {
    const char *group;           /* "node", "net", "gemm" */
    char key[PARAM_KEY_MAX];     /* the profile's class */
    const struct param_row *row; /* that its values come from */
    bool own;                    /* the profile holds values of its own */
    bool beyond;                 /* outside what the class was fitted on */
    char why[160];               /* then: in what way */
};

void predict_trust_gemm(const struct gpu_profile *gpu, double flops, struct predict_trust *out);

void predict_print_trust(const struct predict_trust *trusts, size_t n);
void predict_print_beyond(const struct predict_trust *trusts, size_t n);
void predict_add_trust(struct cJSON *doc, const struct predict_trust *trusts, size_t n);

/* ---- intervals ----
 *
 * Where measured times lie around a predicted one (model/accuracy.h). */

/* Of fixed_us + us, of which us was compared with measured times. Two lines, or one with the reason
 * why the interval is not known. */
void predict_print_interval(const struct accuracy_interval *in, double fixed_us, double us,
                            const char *reason);

/* "interval50" and "interval80", [low, high] in us; null: not measured. "interval_class". */
void predict_add_interval(struct cJSON *doc, const struct accuracy_interval *in, double fixed_us,
                          double us);

/* ---- explanations: which ways there are, and at what sizes the choice changes ---- */

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

/* ---- documents ---- */

struct cJSON *predict_doc(const char *kind, const struct profile_pair *t);
void predict_print_assumptions(const char *const *texts, bool explain); /* else: how many */
void predict_add_assumptions(struct cJSON *doc, const char *const *texts);

#endif

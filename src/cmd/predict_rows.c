/* SPDX-License-Identifier: MIT
 *
 * Predictions as the table that nccl-tests prints, so that both can be laid side by side and read
 * by the same scripts: comments start with #, then size, count, type, redop, root, time, algbw and
 * busbw in its widths and units. Behind them stands what only a prediction knows: algorithm,
 * protocol, channels, and a * where the row is outside what the model was fitted on.
 */
#include "cmd/predict_explain.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* As nccl-tests names types. */
static const char *type_name(enum specter_dtype type)
{
    switch (type) {
    case SPECTER_FP16:
        return "half";
    case SPECTER_FP32:
        return "float";
    case SPECTER_FP64:
        return "double";
    case SPECTER_BF16:
        return "bfloat16";
    case SPECTER_FP8E4M3:
        return "f8e4m3";
    case SPECTER_FP8E5M2:
        return "f8e5m2";
    default:
        return specter_dtype_name(type);
    }
}

static bool reduces(enum specter_comm_op op)
{
    return op == SPECTER_ALLREDUCE || op == SPECTER_REDUCESCATTER || op == SPECTER_REDUCE;
}

static bool has_root(enum specter_comm_op op)
{
    return op == SPECTER_BROADCAST || op == SPECTER_REDUCE || op == SPECTER_GATHER ||
           op == SPECTER_SCATTER;
}

/* The call's own count argument: of a rank or a peer where the full buffer is that of all. */
static double count_of(const struct predict_transfer *t, enum specter_dtype type)
{
    double element = specter_dtype_bits(type) / 8.0;
    uint64_t one = specter_comm_op_bytes(t->op, 1, SPECTER_INT8, (uint64_t)t->where.ranks);
    double parts = t->op == SPECTER_ALLTOALLV ? t->where.ranks : (double)one;
    return floor(t->bytes / element / parts);
}

/* Four digits or more, as nccl-tests prints times. */
static void print_us(double us)
{
    printf("  %7.*f", us >= 10000 ? 0 : us >= 100 ? 1 : 2, us);
}

static void print_heads(const struct predict_transfer *first)
{
    printf("# %s, predicted by specter\n#\n", specter_comm_op_name(first->op));
    printf("# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %13s  %6s  %3s\n", "size", "count", "type",
           "redop", "root", "time", "algbw", "busbw", "algo", "proto", "ch");
    printf("# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s\n", "(B)", "(elements)", "", "", "", "(us)",
           "(GB/s)", "(GB/s)");
}

static void print_layout(const struct predict_transfer *first)
{
    struct predict_trust trusts[PREDICT_TRUSTS];
    struct buf place = BUF_INIT;
    predict_put_place(&place, first);
    printf("# %s\n", place.data);
    buf_release(&place);
    predict_print_trust("# ", trusts, predict_trust_transfer(first, trusts));
}

static void print_row(struct predict_rows *r, const struct predict_transfer *t)
{
    struct predict_trust trusts[PREDICT_TRUSTS];
    bool beyond = predict_is_beyond(trusts, predict_trust_transfer(t, trusts));
    double algbw = predict_algbw_GBps(t), busbw = predict_busbw_GBps(t);
    printf("%12.0f  %12.0f  %8s  %6s  %6d", t->bytes, count_of(t, r->type), type_name(r->type),
           reduces(t->op) ? "sum" : "none", has_root(t->op) ? 0 : -1);
    print_us(t->cost.us);
    printf("  %6.2f  %6.2f  %13s  %6s  %3d%s\n", isnan(algbw) ? 0 : algbw, isnan(busbw) ? 0 : busbw,
           t->cost.algo, t->cost.proto, t->cost.channels, beyond ? " *" : "");
    r->busbw_sum += isnan(busbw) ? 0 : busbw;
    r->extrapolated += beyond;
}

void predict_rows_init(struct predict_rows *r, enum specter_dtype type, bool explain, bool json)
{
    *r = (struct predict_rows){
        .type = type, .explain = explain, .array = json ? cJSON_CreateArray() : NULL};
}

void predict_rows_drop(struct predict_rows *r)
{
    cJSON_Delete(r->array);
    r->array = NULL;
}

int predict_rows_put(struct predict_rows *r, const struct predict_transfer *t, bool new_layout,
                     struct err *e)
{
    if (r->array != NULL) {
        cJSON *doc = predict_transfer_json(t);
        cJSON_AddItemToArray(r->array, doc);
        return r->explain ? predict_add_candidates(doc, t, e) : 0;
    }
    if (r->count++ == 0)
        print_heads(t);
    if (new_layout)
        print_layout(t);
    print_row(r, t);
    return 0;
}

int predict_rows_end(struct predict_rows *r, struct err *e)
{
    if (r->array != NULL)
        return cmd_write_json(r->array, "-", e);
    printf("# Avg bus bandwidth    : %g\n#\n", r->busbw_sum / (double)r->count);
    if (r->extrapolated > 0)
        puts("# * outside what the model was fitted on");
    for (size_t i = 0; model_comm_assumptions[i] != NULL; i++)
        printf("# assumes: %s\n", model_comm_assumptions[i]);
    return 0;
}

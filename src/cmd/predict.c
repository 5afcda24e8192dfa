/* SPDX-License-Identifier: MIT
 *
 * specter predict: what one operation costs, without a trace.
 */
#include "cmd/predict.h"

#include "base/arena.h"
#include "calib/measured.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int predict_missing(const char *option, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s is needed (see 'specter help predict')", option);
}

int predict_dtype(const char *option, const char *text, enum specter_dtype *type, struct err *e)
{
    *type = measured_dtype(text);
    if (*type != SPECTER_DTYPE_UNKNOWN)
        return 0;
    return err_set(e, ERR_USAGE,
                   "%s: unknown type '%.64s'; known are fp64, fp32, tf32, fp16, bf16, fp8 "
                   "(fp8e4m3), fp8e5m2, int8, fp4",
                   option, text);
}

/* ---- --bytes: one size, or a sweep as nccl-tests makes it ---- */

#define BYTES_MAX ((uint64_t)1 << 53) /* up to here a double counts single bytes */
#define SIZES_MAX 100000

static int parse_size(const char *text, uint64_t *out, struct err *e)
{
    if (opt_parse_bytes("--bytes", text, out, e) < 0)
        return -1;
    if (*out > BYTES_MAX)
        return err_set(e, ERR_USAGE, "--bytes: %llu is out of range: at most %llu (8192T)",
                       (unsigned long long)*out, (unsigned long long)BYTES_MAX);
    return 0;
}

int predict_sizes_parse(const char *text, double factor, struct opt_bytes step,
                        struct predict_sizes *out, struct err *e)
{
    const char *colon;
    struct arena a;
    int rc, n = 0;
    *out = (struct predict_sizes){.factor = factor, .step = step.value};
    if (text == NULL)
        return predict_missing("--bytes", e);
    if (!(factor > 1))
        return err_set(e, ERR_USAGE, "--factor: %g is not more than 1", factor);
    if (step.given && step.value == 0)
        return err_set(e, ERR_USAGE, "--step: 0 leads nowhere");
    colon = strchr(text, ':');
    out->sweep = colon != NULL;
    if (!out->sweep) {
        rc = parse_size(text, &out->first, e);
        out->last = out->first;
        return rc;
    }
    arena_init(&a);
    rc = parse_size(arena_strndup(&a, text, (size_t)(colon - text)), &out->first, e);
    arena_release(&a);
    if (rc < 0 || parse_size(colon + 1, &out->last, e) < 0)
        return -1;
    if (out->last < out->first)
        return err_set(e, ERR_USAGE, "--bytes: '%s' ends before it begins", text);
    for (uint64_t size = out->first; size <= out->last; size = predict_sizes_next(out, size)) {
        if (++n > SIZES_MAX)
            return err_set(e, ERR_USAGE, "--bytes: more than %d sizes; take a larger step",
                           SIZES_MAX);
    }
    return 0;
}

/* Whole bytes; past 0, and past sizes that the factor does not move, by one. */
uint64_t predict_sizes_next(const struct predict_sizes *s, uint64_t size)
{
    double next = (double)size * s->factor;
    if (s->step > 0)
        return s->step > UINT64_MAX - size ? UINT64_MAX : size + s->step;
    if (next > (double)s->last)
        return s->last + 1;
    return (uint64_t)next > size ? (uint64_t)next : size + 1;
}

/* ---- documents ---- */

void predict_print_row(const char *name, const char *fmt, ...)
{
    const size_t indent = 13;
    struct buf text = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    printf("  %-10s ", name);
    opt_wrap(text.data, indent, indent, stdout);
    buf_release(&text);
}

void predict_print_assumptions(const char *const *texts, bool explain)
{
    size_t n = 0;
    while (texts[n] != NULL)
        n++;
    if (!explain) {
        printf("\nMore: --explain (%zu assumptions), --json\n", n);
        return;
    }
    puts("\nassumes");
    for (size_t i = 0; i < n; i++) {
        fputs("  ", stdout);
        opt_wrap(texts[i], 2, 4, stdout);
    }
}

void predict_add_assumptions(cJSON *doc, const char *const *texts)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "assumptions");
    for (; *texts != NULL; texts++)
        cJSON_AddItemToArray(list, cJSON_CreateString(*texts));
}

cJSON *predict_doc(const char *kind, const struct profile_pair *t)
{
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "schema", "specter.predict/1");
    cJSON_AddStringToObject(doc, "kind", kind);
    cJSON_AddStringToObject(doc, "gpu", t->gpu->name);
    if (t->network != NULL)
        cJSON_AddStringToObject(doc, "network", t->network->name);
    return doc;
}

static const struct cmd_kind *const kinds[] = {
    &predict_collective,
    &predict_p2p,
    &predict_gemm,
};

static const struct opt predict_rows[] = {OPT_END};

const struct command cmd_predict = {
    .name = "predict",
    .synopsis = "predict collective --op OP --bytes SIZE[:SIZE] --ranks N[,N...] [OPTIONS]\n"
                "predict p2p --bytes SIZE[:SIZE] [--across] [OPTIONS]\n"
                "predict gemm -m N -n N -k N [--batch N] [--dtype TYPE] [--cold|--hot] [OPTIONS]",
    .summary = "predict one operation, without a trace",
    .details =
        "Time, bandwidth or TFLOPS of one operation on given hardware, and what bounds it; over "
        "a range of sizes, the table that nccl-tests prints.\n"
        "'specter help predict collective' (p2p, gemm) shows the options of each kind;\n"
        "'specter profiles' lists GPUs and networks. SIZE: 64M = 64 x 1024^2, 64MB = 64 x 1000^2, "
        "1e6.",
    .rows = predict_rows,
    .kinds = kinds,
    .nkinds = sizeof kinds / sizeof *kinds,
    .paged = true,
    .run = cmd_run_kind,
};

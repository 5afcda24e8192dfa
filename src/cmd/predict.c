/* SPDX-License-Identifier: MIT
 *
 * specter predict: what one operation costs, without a trace.
 */
#include "cmd/predict.h"

#include "calib/measured_names.h"

#include <cjson/cJSON.h>
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

void predict_print_assumptions(const char *const *texts)
{
    puts("\nassumes");
    for (; *texts != NULL; texts++) {
        fputs("  ", stdout);
        opt_wrap(*texts, 2, 4, stdout);
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

static int run_predict(const struct command *self, int argc, char **argv, struct err *e)
{
    return cmd_run_kind(self, kinds, sizeof kinds / sizeof *kinds, argc, argv, e);
}

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
        "'specter profiles' lists GPUs and networks. SIZE counts in powers of 1024.",
    .rows = predict_rows,
    .has_kinds = true,
    .run = run_predict,
};

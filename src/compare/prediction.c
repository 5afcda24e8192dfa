/* SPDX-License-Identifier: MIT
 *
 * A step that a replay predicted, read from its JSON, as a side of a comparison (side.h).
 */
#include "compare/side.h"

#include "base/err.h"
#include "base/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "specter.replay/"
#define SNIFFED 256 /* bytes: the schema comes first */

bool prediction_is(const char *path)
{
    char text[SNIFFED + 1];
    FILE *in = fopen(path, "re");
    const char *at;
    size_t n = 0;
    if (in == NULL)
        return false;
    n = fread(text, 1, SNIFFED, in);
    fclose(in);
    text[n] = '\0';
    at = text + strspn(text, " \t\r\n");
    return *at == '{' && strstr(at, "\"schema\"") != NULL && strstr(at, "\"" SCHEMA) != NULL;
}

/* Nanoseconds of a key in microseconds; NAN. A time is not below 0. */
static double time_of(const cJSON *o, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNumber(item) && item->valuedouble >= 0 ? item->valuedouble * 1e3 : NAN;
}

/* Returns 0 for a time that the replay does not say. */
static double or_none(double ns)
{
    return isfinite(ns) ? ns : 0;
}

/* An interval as wide as the step begins at 0. */
static double end_of(const cJSON *o, int end)
{
    const cJSON *ends = cJSON_GetObjectItemCaseSensitive(o, "interval80");
    const cJSON *item = cJSON_GetArrayItem(ends, end);
    return cJSON_IsNumber(item) && item->valuedouble >= (end == 0 ? 0 : 1e-3)
               ? item->valuedouble * 1e3
               : NAN;
}

static void read_step(struct predicted_step *step, const cJSON *o)
{
    const double bubble = or_none(time_of(o, "bubble_us"));
    const double absent = or_none(time_of(o, "absent_wait_us"));
    const double untraced = or_none(time_of(o, "untraced_us"));
    const cJSON *gpus = cJSON_GetObjectItemCaseSensitive(o, "gpus");
    step->gpus =
        cJSON_IsNumber(gpus) && gpus->valuedouble >= 1 && gpus->valuedouble < (double)INT64_MAX
            ? (int64_t)gpus->valuedouble
            : 0;
    step->ns[COMPARE_WHOLE] = time_of(o, "iteration_us");
    step->ns[COMPARE_COMPUTE] = time_of(o, "compute_us");
    step->ns[COMPARE_COMM] = time_of(o, "exposed_comm_us") + absent + bubble;
    step->ns[COMPARE_WAIT] = time_of(o, "comm_wait_us") + absent + bubble;
    step->ns[COMPARE_COPIES] = time_of(o, "exposed_memory_us");
    step->ns[COMPARE_IDLE] = time_of(o, "idle_us") - bubble + untraced;
    step->ns[COMPARE_OVERLAP] = NAN;
    step->ns[COMPARE_BUSY] = step->ns[COMPARE_WHOLE] - step->ns[COMPARE_IDLE];
    step->low_ns = end_of(o, 0);
    step->high_ns = end_of(o, 1);
}

int prediction_read(struct prediction *p, const char *path, struct err *e)
{
    cJSON *doc = json_file_read(path, e);
    const cJSON *scales = cJSON_GetObjectItemCaseSensitive(doc, "scales"), *o;
    int rc = 0;
    *p = (struct prediction){0};
    if (doc == NULL)
        return -1;
    p->list = array_new((size_t)cJSON_GetArraySize(scales) + 1, sizeof *p->list);
    cJSON_ArrayForEach(o, scales)
    {
        struct predicted_step *step = &p->list[p->n];
        read_step(step, o);
        if (step->gpus == 0 || !(step->ns[COMPARE_WHOLE] > 0))
            rc = err_set(e, ERR_INPUT, "%s: scales[%zu] has no 'gpus' and 'iteration_us'", path,
                         p->n);
        if (rc < 0)
            break;
        p->n++;
    }
    if (rc == 0 && p->n == 0)
        rc = err_set(e, ERR_INPUT, "%s: a replay without 'scales'", path);
    cJSON_Delete(doc);
    if (rc < 0)
        prediction_release(p);
    return rc;
}

void prediction_release(struct prediction *p)
{
    free(p->list);
    *p = (struct prediction){0};
}

struct sample_test prediction_noise(const struct predicted_step *base, double base_ns,
                                    const struct predicted_step *test, double test_ns)
{
    struct sample_test noise = {test_ns / base_ns, NAN, NAN, 1, 1};
    if (base != NULL && test == NULL) {
        noise.low = test_ns / base->high_ns;
        noise.high = test_ns / base->low_ns;
    } else if (base == NULL && test != NULL) {
        noise.low = test->low_ns / base_ns;
        noise.high = test->high_ns / base_ns;
    }
    return noise;
}

const struct predicted_step *prediction_at(const struct prediction *p, int64_t gpus)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->list[i].gpus == gpus)
            return &p->list[i];
    }
    return NULL;
}

/* SPDX-License-Identifier: MIT */
#include "report/bench_checks.h"

#include "report/json_add.h"

#include <cjson/cJSON.h>
#include <math.h>

static void text_value(enum bench_check_name name, double value, char *buf, size_t size)
{
    if (bench_check_is_share(name))
        snprintf(buf, size, "%.*f %%", value > 0 && value < 0.1 ? 1 : 0, 100 * value);
    else
        snprintf(buf, size,
                 name != BENCH_CHECK_drift ? "%.0f"
                 : value < 9.95            ? "%.1f ppm"
                                           : "%.0f ppm",
                 value);
}

void bench_checks_text(const struct bench_checks *checks, bool full, FILE *out)
{
    const int failed = bench_checks_failed(checks);
    int known = 0;
    for (int i = 0; i < BENCH_CHECK_COUNT; i++)
        known +=
            !isnan(bench_check_limit(i)) && bench_check_verdict(checks, i) != BENCH_CHECK_UNKNOWN;
    if (known == 0)
        return;
    if (failed > 0)
        fprintf(out, "Checks: %d of %d failed\n", failed, known);
    else
        fprintf(out, "Checks: all %d passed\n", known);
    for (int i = 0; i < BENCH_CHECK_COUNT; i++) {
        const enum bench_check_verdict verdict = bench_check_verdict(checks, i);
        char value[32], limit[32];
        if (isnan(bench_check_limit(i)) || verdict == BENCH_CHECK_UNKNOWN ||
            (verdict == BENCH_CHECK_PASS && !full))
            continue;
        text_value(i, checks->figures[i].value, value, sizeof value);
        text_value(i, bench_check_limit(i), limit, sizeof limit);
        fprintf(out, "  %s  %-9s %8s  limit %-7s %s\n",
                verdict == BENCH_CHECK_FAIL ? "FAIL" : "pass", bench_check_word(i), value, limit,
                checks->figures[i].where);
    }
}

cJSON *bench_checks_json(const struct bench_checks *checks)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < BENCH_CHECK_COUNT; i++) {
        const enum bench_check_verdict verdict = bench_check_verdict(checks, i);
        cJSON *o;
        if (isnan(bench_check_limit(i)))
            continue;
        o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "name", bench_check_word(i));
        if (verdict == BENCH_CHECK_UNKNOWN)
            cJSON_AddNullToObject(o, "pass");
        else
            cJSON_AddBoolToObject(o, "pass", verdict == BENCH_CHECK_PASS);
        json_add_number(o, "value", checks->figures[i].value);
        json_add_number(o, "limit", bench_check_limit(i));
        json_add_text(o, "where", checks->figures[i].where);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

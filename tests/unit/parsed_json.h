/* SPDX-License-Identifier: MIT
 *
 * What analyze writes as JSON, read again.
 */
#ifndef SPECTER_PARSED_JSON_H
#define SPECTER_PARSED_JSON_H

#include "report/analyze_report.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

/* The caller deletes it. */
static inline cJSON *parsed_analysis(const struct analysis *a, const struct findings *f)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cJSON *doc;
    analyze_json(a, f, out);
    fclose(out);
    doc = cJSON_Parse(text);
    free(text);
    return doc;
}

#endif

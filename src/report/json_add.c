/* SPDX-License-Identifier: MIT
 *
 * Values of JSON results.
 */
#include "report/json_add.h"

#include "base/arena.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void json_add_number(cJSON *o, const char *key, double value)
{
    if (isfinite(value))
        cJSON_AddNumberToObject(o, key, value);
    else
        cJSON_AddNullToObject(o, key);
}

void json_add_us(cJSON *o, const char *key, double ns)
{
    json_add_number(o, key, ns / 1e3);
}

/* cJSON writes bytes as they are. */
void json_add_text(cJSON *o, const char *key, const char *text)
{
    size_t cap = 0;
    char *safe;
    if (text == NULL || text[0] == '\0') {
        cJSON_AddNullToObject(o, key);
        return;
    }
    safe = array_grow(NULL, &cap, strlen(text) + 1, 1);
    cJSON_AddStringToObject(o, key, text_safe(safe, cap, text, strlen(text)));
    free(safe);
}

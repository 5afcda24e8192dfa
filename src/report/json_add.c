/* SPDX-License-Identifier: MIT
 *
 * Values of JSON results, and results that are written while they are made.
 */
#include "report/json_add.h"

#include "base/arena.h"
#include "base/err.h"
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

void json_add_interval(cJSON *o, const char *key, const double ends_ns[2])
{
    const double us[] = {ends_ns[0] / 1e3, ends_ns[1] / 1e3};
    if (isfinite(us[0]) && isfinite(us[1]))
        cJSON_AddItemToObject(o, key, cJSON_CreateDoubleArray(us, 2));
    else
        cJSON_AddNullToObject(o, key);
}

cJSON *json_add_object(cJSON *list)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToArray(list, o);
    return o;
}

/* cJSON writes bytes as they are. */
void json_add_text(cJSON *o, const char *key, const char *text)
{
    char *safe;
    if (text == NULL || text[0] == '\0') {
        cJSON_AddNullToObject(o, key);
        return;
    }
    safe = text_safe_copy(text);
    cJSON_AddStringToObject(o, key, safe);
    free(safe);
}

/* ---- streams ---- */

/* Prints the value `depth` levels deep: in texts there are no newlines, which are escaped. */
static void put_value(struct json_stream *s, const cJSON *value, int depth)
{
    char *text = cJSON_Print(value), *line = text;
    if (text == NULL)
        die("out of memory");
    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        fwrite(line, 1, (size_t)(end + 1 - line), s->out);
        for (int i = 0; i < depth; i++)
            fputc('\t', s->out);
    }
    fputs(line, s->out);
    free(text);
}

static void put_key(struct json_stream *s, const char *key)
{
    cJSON *name = cJSON_CreateString(key);
    fputs(s->any ? ",\n\t" : "\n\t", s->out);
    put_value(s, name, 0);
    fputs(":\t", s->out);
    cJSON_Delete(name);
    s->any = true;
}

void json_stream_begin(struct json_stream *s, FILE *out)
{
    *s = (struct json_stream){.out = out};
    fputc('{', out);
}

void json_stream_end(struct json_stream *s)
{
    fputs("\n}", s->out);
}

void json_stream_members(struct json_stream *s, struct cJSON *doc)
{
    while (doc->child != NULL) {
        cJSON *member = cJSON_DetachItemViaPointer(doc, doc->child);
        put_key(s, member->string);
        put_value(s, member, 1);
        cJSON_Delete(member);
    }
}

void json_stream_list(struct json_stream *s, const char *key)
{
    put_key(s, key);
    fputc('[', s->out);
    s->listed = false;
}

void json_stream_element(struct json_stream *s, struct cJSON *element)
{
    fputs(s->listed ? ", " : "", s->out);
    put_value(s, element, 2);
    cJSON_Delete(element);
    s->listed = true;
}

void json_stream_list_end(struct json_stream *s)
{
    fputc(']', s->out);
}

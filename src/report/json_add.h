/* SPDX-License-Identifier: MIT
 *
 * Adds values to JSON results, in all of them alike: null is a value that is not known, and text is
 * valid UTF-8 whatever a trace holds.
 */
#ifndef SPECTER_REPORT_JSON_ADD_H
#define SPECTER_REPORT_JSON_ADD_H

#include <stdbool.h>
#include <stdio.h>

struct cJSON;

void json_add_number(struct cJSON *o, const char *key, double value); /* not finite: null */
void json_add_us(struct cJSON *o, const char *key, double ns);        /* in microseconds */
/* [low, high], in microseconds; null where one of them is not known. */
void json_add_interval(struct cJSON *o, const char *key, const double ends_ns[2]);
void json_add_text(struct cJSON *o, const char *key, const char *text); /* NULL, "": null */

/* Adds an empty object at the end of a list, which owns it. */
struct cJSON *json_add_object(struct cJSON *list);

/* A JSON object that is written while it is made, in the form of cJSON_Print(): a result of many
 * ranks takes no more memory than its longest member, and a list no more than one of its elements.
 *
 *     struct json_stream s;
 *     json_stream_begin(&s, out);
 *     json_stream_members(&s, doc);                   what is in doc so far; doc is empty then
 *     json_stream_list(&s, "ranks");
 *     while (...)
 *         json_stream_element(&s, row);               consumed
 *     json_stream_list_end(&s);
 *     json_stream_end(&s);
 */
struct json_stream {
    FILE *out;        /* borrowed; the caller asks it for errors */
    bool any, listed; /* a member, and an element of the list, was written */
};

void json_stream_begin(struct json_stream *s, FILE *out);
void json_stream_end(struct json_stream *s);

/* Moves the members of the object `doc` to the output. */
void json_stream_members(struct json_stream *s, struct cJSON *doc);

/* A member that is a list, element by element. */
void json_stream_list(struct json_stream *s, const char *key);
void json_stream_element(struct json_stream *s, struct cJSON *element);
void json_stream_list_end(struct json_stream *s);

#endif

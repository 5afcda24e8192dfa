/* SPDX-License-Identifier: MIT
 *
 * What all JSON results do alike with a value: null is what is not known, and text is valid UTF-8
 * whatever a trace holds.
 */
#ifndef SPECTER_REPORT_JSON_ADD_H
#define SPECTER_REPORT_JSON_ADD_H

struct cJSON;

void json_add_number(struct cJSON *o, const char *key, double value);   /* not finite: null */
void json_add_us(struct cJSON *o, const char *key, double ns);          /* in microseconds */
void json_add_text(struct cJSON *o, const char *key, const char *text); /* NULL, "": null */

#endif

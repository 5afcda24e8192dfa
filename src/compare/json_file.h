/* SPDX-License-Identifier: MIT
 *
 * Small JSON documents that specter wrote, or a person did, as a tree.
 */
#ifndef SPECTER_COMPARE_JSON_FILE_H
#define SPECTER_COMPARE_JSON_FILE_H

struct cJSON;
struct err;

/* The whole document, an object; the caller deletes it. NULL with e filled (ERR_INPUT). */
struct cJSON *json_file_read(const char *path, struct err *e);

#endif

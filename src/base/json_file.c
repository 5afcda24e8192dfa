/* SPDX-License-Identifier: MIT
 *
 * A small JSON document as a tree (end of json.h).
 */
#include "base/json.h"

#include "base/buf.h"
#include "base/err.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX ((size_t)16 << 20)

cJSON *json_file_read(const char *path, struct err *e)
{
    FILE *in = fopen(path, "re");
    struct buf text = BUF_INIT;
    char block[4096];
    size_t n;
    cJSON *doc = NULL;
    int failed;
    if (in == NULL) {
        err_set(e, ERR_INPUT, "%s: %s", path, strerror(errno));
        return NULL;
    }
    while (text.len <= FILE_MAX && (n = fread(block, 1, sizeof block, in)) > 0)
        buf_put(&text, block, n);
    failed = ferror(in) ? errno : 0;
    fclose(in);
    if (failed != 0)
        err_set(e, ERR_INPUT, "%s: %s", path, strerror(failed));
    else if (text.len > FILE_MAX)
        err_set(e, ERR_INPUT, "%s: larger than 16 MiB", path);
    else if (text.len == 0 ||
             (doc = cJSON_ParseWithLengthOpts(text.data, text.len + 1, NULL, 1)) == NULL ||
             !cJSON_IsObject(doc))
        err_set(e, ERR_INPUT, "%s: no JSON object", path);
    if (doc != NULL && !cJSON_IsObject(doc)) {
        cJSON_Delete(doc);
        doc = NULL;
    }
    buf_release(&text);
    return doc;
}

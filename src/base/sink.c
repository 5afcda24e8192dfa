/* SPDX-License-Identifier: MIT */
#include "base/sink.h"

#include "base/err.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct sink {
    FILE *plain; /* or zip */
    gzFile zip;
    char *path;
    int failed; /* errno of the first failure */
};

int sink_open(struct sink **out, const char *path, struct err *e)
{
    struct sink *s = calloc(1, sizeof *s);
    if (s == NULL || (s->path = strdup(path)) == NULL)
        die("out of memory");
    errno = 0;
    size_t n = strlen(path), m = strlen(".gz");
    if (n >= m && strcmp(path + n - m, ".gz") == 0)
        s->zip = gzopen(path, "wb");
    else
        s->plain = fopen(path, "w");
    if (s->zip == NULL && s->plain == NULL) {
        err_set(e, ERR_INPUT, "cannot write '%s': %s", path, strerror(errno));
        free(s->path);
        free(s);
        return -1;
    }
    *out = s;
    return 0;
}

static void note_failure(struct sink *s)
{
    if (s->failed == 0)
        s->failed = errno != 0 ? errno : EIO;
}

void sink_put(struct sink *s, const void *bytes, size_t len)
{
    if (len == 0 || s->failed != 0)
        return;
    errno = 0;
    if (s->zip != NULL ? gzfwrite(bytes, len, 1, s->zip) != 1
                       : fwrite(bytes, len, 1, s->plain) != 1)
        note_failure(s);
}

int sink_close(struct sink *s, struct err *e)
{
    int rc = 0;
    errno = 0;
    if (s->zip != NULL ? gzclose(s->zip) != Z_OK : fclose(s->plain) != 0)
        note_failure(s);
    if (s->failed != 0)
        rc = err_set(e, ERR_INPUT, "cannot write '%s': %s", s->path, strerror(s->failed));
    free(s->path);
    free(s);
    return rc;
}

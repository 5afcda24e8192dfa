/* SPDX-License-Identifier: MIT
 *
 * Bytes into a file, front to back, gzip where its name says so (end of whole_file.h).
 */
#include "base/whole_file.h"

#include "base/arena.h"
#include "base/err.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

struct sink {
    struct whole_file file;
    gzFile zip; /* over file's descriptor; NULL: not packed */
    int failed; /* errno of the first failure */
};

int sink_open(struct sink **out, const char *path, struct err *e)
{
    struct sink *s = array_new(1, sizeof *s);
    const size_t n = strlen(path), m = strlen(".gz");
    if (whole_file_open(&s->file, path, e) < 0) {
        free(s);
        return -1;
    }
    if (n >= m && strcmp(path + n - m, ".gz") == 0) {
        const int fd = dup(fileno(s->file.out)); /* gzclose() closes its own */
        s->zip = fd >= 0 ? gzdopen(fd, "wb") : NULL;
        if (s->zip == NULL) {
            err_set(e, ERR_INPUT, "cannot write '%s': %s", path, strerror(errno));
            whole_file_discard(&s->file);
            free(s);
            return -1;
        }
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
                       : fwrite(bytes, len, 1, s->file.out) != 1)
        note_failure(s);
}

int sink_close(struct sink *s, struct err *e)
{
    int rc;
    errno = 0;
    if (s->zip != NULL && gzclose(s->zip) != Z_OK)
        note_failure(s);
    if (s->failed != 0) {
        rc = err_set(e, ERR_INPUT, "cannot write '%s': %s", s->file.path, strerror(s->failed));
        whole_file_discard(&s->file);
    } else {
        rc = whole_file_close(&s->file, e);
    }
    free(s);
    return rc;
}

void sink_discard(struct sink *s)
{
    if (s->zip != NULL)
        gzclose(s->zip);
    whole_file_discard(&s->file);
    free(s);
}

/* SPDX-License-Identifier: MIT */
#include "base/whole_file.h"

#include "base/buf.h"
#include "base/err.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool can_make_files_beside(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct buf folder = BUF_INIT;
    bool can;
    if (slash != NULL)
        buf_put(&folder, path, (size_t)(slash + 1 - path));
    else
        buf_putc(&folder, '.');
    can = access(folder.data, W_OK | X_OK) == 0;
    buf_release(&folder);
    return can;
}

/* Opens the file beside path; false: it is to be written in place. */
static bool open_beside(struct whole_file *f, const char *path)
{
    struct buf name = BUF_INIT;
    struct stat st;
    const bool exists = lstat(path, &st) == 0;
    if (exists && (!S_ISREG(st.st_mode) || access(path, W_OK) < 0 || !can_make_files_beside(path)))
        return false;
    buf_printf(&name, "%s.%ld.tmp", path, (long)getpid());
    f->out = fopen(name.data, "we");
    if (f->out == NULL) {
        buf_release(&name);
        return errno != ENAMETOOLONG;
    }
    if (exists)
        (void)!fchmod(fileno(f->out), st.st_mode & 07777);
    f->beside = name.data;
    return true;
}

int whole_file_open(struct whole_file *f, const char *path, struct err *e)
{
    *f = (struct whole_file){0};
    errno = 0;
    if (!open_beside(f, path))
        f->out = fopen(path, "we");
    if (f->out == NULL)
        return err_set(e, ERR_INPUT, "cannot write '%s': %s", path, strerror(errno));
    f->path = strdup(path);
    if (f->path == NULL)
        die("out of memory");
    errno = 0;
    return 0;
}

static void release(struct whole_file *f)
{
    free(f->path);
    free(f->beside);
    *f = (struct whole_file){0};
}

int whole_file_close(struct whole_file *f, struct err *e)
{
    bool failed = ferror(f->out) != 0;
    int rc = 0;
    failed = fclose(f->out) != 0 || failed;
    if (failed || (f->beside != NULL && rename(f->beside, f->path) < 0)) {
        rc = err_set(e, ERR_INPUT, "cannot write '%s': %s", f->path,
                     strerror(errno != 0 ? errno : EIO));
        if (f->beside != NULL)
            unlink(f->beside);
    }
    release(f);
    return rc;
}

void whole_file_discard(struct whole_file *f)
{
    fclose(f->out);
    if (f->beside != NULL)
        unlink(f->beside);
    release(f);
}

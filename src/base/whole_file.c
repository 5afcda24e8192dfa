/* SPDX-License-Identifier: MIT */
#include "base/whole_file.h"

#include "base/buf.h"
#include "base/err.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is begun ---- */

#define BEGUN_MAX 16 /* at a time; more of them would stay after a signal */

/* A handler may read it at any moment, so that names are copied and never freed. */
static struct {
    atomic_int state; /* FREE; CLAIMED: the name is not there yet */
    char name[4096];
} begun[BEGUN_MAX];
enum { FREE, CLAIMED, BEGUN };

static int add_begun(const char *name)
{
    if (strlen(name) >= sizeof begun->name)
        return -1;
    for (int i = 0; i < BEGUN_MAX; i++) {
        int was = FREE;
        if (!atomic_compare_exchange_strong(&begun[i].state, &was, CLAIMED))
            continue;
        memcpy(begun[i].name, name, strlen(name) + 1);
        atomic_store(&begun[i].state, BEGUN);
        return i;
    }
    return -1;
}

void whole_file_remove_begun(void)
{
    for (int i = 0; i < BEGUN_MAX; i++) {
        if (atomic_load(&begun[i].state) == BEGUN)
            unlink(begun[i].name);
    }
}

static void end_begun(struct whole_file *f)
{
    if (f->begun >= 0)
        atomic_store(&begun[f->begun].state, FREE);
    f->begun = -1;
}

/* ---- a file ---- */

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
    f->begun = add_begun(name.data); /* before it is there */
    f->out = fopen(name.data, "we");
    if (f->out == NULL) {
        const int why = errno;
        end_begun(f);
        buf_release(&name);
        errno = why;
        return why != ENAMETOOLONG;
    }
    if (exists)
        (void)!fchmod(fileno(f->out), st.st_mode & 07777);
    f->beside = name.data;
    return true;
}

int whole_file_open(struct whole_file *f, const char *path, struct err *e)
{
    *f = (struct whole_file){.begun = -1};
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
    end_begun(f);
    free(f->path);
    free(f->beside);
    *f = (struct whole_file){.begun = -1};
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

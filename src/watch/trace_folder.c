/* SPDX-License-Identifier: MIT */
#include "watch/trace_folder.h"

#include "base/arena.h"
#include "base/child.h"
#include "trace/reader.h"
#include "trace/trace_summary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int trace_folder_open(struct trace_folder *f, const char *path, struct err *e)
{
    *f = (struct trace_folder){.path = path, .run = ""};
    if (gethostname(f->host, sizeof f->host - 1) < 0)
        f->host[0] = '\0';
    f->dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return f->dirfd >= 0 ? 0 : err_set(e, ERR_INPUT, "cannot read '%s': %s", path, strerror(errno));
}

void trace_folder_close(struct trace_folder *f)
{
    for (size_t i = 0; i < f->count; i++)
        trace_tail_release(&f->list[i]);
    free(f->list);
    if (f->dirfd >= 0)
        close(f->dirfd);
}

static int by_name(const void *pa, const void *pb)
{
    return strcmp(((const struct trace_tail *)pa)->name, ((const struct trace_tail *)pb)->name);
}

/* Among the first `n`, which are in order. */
static bool is_listed(const struct trace_folder *f, size_t n, char *name)
{
    const struct trace_tail key = {.name = name};
    return n > 0 && bsearch(&key, f->list, n, sizeof *f->list, by_name) != NULL;
}

/* Lists files that were not there before. */
static int find_new(struct trace_folder *f, struct err *e)
{
    struct dirent *entry;
    size_t before = f->count;
    int fd = openat(f->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (d == NULL) {
        if (fd >= 0)
            close(fd);
        return err_set(e, ERR_INPUT, "cannot read '%s': %s", f->path, strerror(errno));
    }
    while ((entry = readdir(d)) != NULL) {
        if (!trace_has_name(entry->d_name) || is_listed(f, before, entry->d_name))
            continue;
        ARRAY_GROW(f->list, f->cap, f->count + 1);
        trace_tail_init(&f->list[f->count++], entry->d_name, TAIL_WINDOW_MAX);
    }
    closedir(d);
    if (f->count > before)
        qsort(f->list, f->count, sizeof *f->list, by_name);
    return 0;
}

static void choose_run(struct trace_folder *f)
{
    const struct trace_tail *newest = NULL;
    f->other_runs = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (f->list[i].known && (newest == NULL || f->list[i].real_ns > newest->real_ns))
            newest = &f->list[i];
    }
    f->run = newest != NULL ? newest->run : "";
    for (size_t i = 0; i < f->count; i++)
        f->other_runs += f->list[i].known && !trace_folder_has(f, &f->list[i]);
}

static void count_portion(void *arg, size_t bytes)
{
    struct trace_folder *f = arg;
    f->done += bytes;
    f->progress(f->progress_arg, f->done, f->total);
}

/* What there is to read, where somebody wants to know. */
static void count_new(struct trace_folder *f)
{
    f->done = f->total = 0;
    for (size_t i = 0; i < f->count; i++) {
        struct trace_tail *t = &f->list[i];
        struct stat st;
        t->portion = f->progress != NULL ? count_portion : NULL;
        t->portion_arg = f;
        if (t->portion != NULL && fstatat(f->dirfd, t->name, &st, 0) == 0 && st.st_size > t->at)
            f->total += (uint64_t)(st.st_size - t->at);
    }
}

int trace_folder_poll(struct trace_folder *f, struct err *e)
{
    size_t kept = 0, window;
    if (find_new(f, e) < 0)
        return -1;
    count_new(f);
    window = FOLDER_WINDOW / (f->count + 1);
    for (size_t i = 0; i < f->count; i++) {
        struct trace_tail *t = &f->list[i];
        t->window = window > TAIL_WINDOW_MAX   ? TAIL_WINDOW_MAX
                    : window < TAIL_WINDOW_MIN ? TAIL_WINDOW_MIN
                                               : window;
        if (!trace_tail_poll(t, f->dirfd)) {
            trace_tail_release(t);
            continue;
        }
        f->list[kept++] = *t;
    }
    f->count = kept;
    choose_run(f);
    return 0;
}

bool trace_folder_has(const struct trace_folder *f, const struct trace_tail *t)
{
    return t->known && strcmp(t->run, f->run) == 0;
}

bool trace_folder_run(const struct trace_folder *f, struct run *run)
{
    struct buf text = BUF_INIT;
    run_init(run);
    run->source = f->path;
    for (size_t i = 0; i < f->count; i++) {
        const struct trace_tail *t = &f->list[i];
        if (!trace_folder_has(f, t))
            continue;
        buf_reset(&text);
        trace_tail_text(t, &text);
        jsonl_read_text(run, text.data, text.len, t->name, NULL); /* one that holds nothing is
                                                                     as good as not there yet */
    }
    buf_release(&text);
    if (run->nranks == 0)
        return false;
    reader_jsonl.finish(run);
    run_finish(run);
    return true;
}

const struct trace_tail *trace_folder_tail(const struct trace_folder *f, const struct rank *rank)
{
    for (size_t i = 0; i < f->count; i++) {
        if (strcmp(f->list[i].name, rank->file) == 0)
            return &f->list[i];
    }
    return NULL;
}

/* A process in a container has another number here: as long as its file is written it lives. */
static bool is_written(const struct trace_tail *t)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec - t->stat.st_mtim.tv_sec < FOLDER_QUIET_S;
}

bool trace_folder_ended(const struct trace_folder *f, const struct trace_tail *t)
{
    if (t->closed || t->pid <= 0 || t->host == NULL || strcmp(t->host, f->host) != 0)
        return t->closed;
    return !is_written(t) && !child_is_alive(t->pid);
}

/* SPDX-License-Identifier: MIT */
#include "cmd/load.h"

#include "base/buf.h"
#include "cmd/progress.h"
#include "trace/run.h"

#define QUIET_NS 500000000 /* what is done by then needs no bar */

static void put_bytes(struct buf *b, double bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    size_t i = 0;
    for (bytes /= 1000; bytes >= 1000 && i + 1 < sizeof units / sizeof *units; i++)
        bytes /= 1000;
    buf_printf(b, "%.*f %s", bytes < 10 ? 1 : 0, bytes, units[i]);
}

static void show(void *arg, uint64_t done, uint64_t total)
{
    struct progress_line *p = arg;
    double s = (double)progress_ns(p) / 1e9;
    struct buf line = BUF_INIT;
    if (s * 1e9 < QUIET_NS || total == 0)
        return;
    if (done > total)
        total = done; /* a file that grows */
    buf_putc(&line, ' ');
    put_bytes(&line, (double)done);
    buf_puts(&line, " of ");
    put_bytes(&line, (double)total);
    buf_printf(&line, "  %.0f MB/s", (double)done / s / 1e6);
    if (done > 0) {
        long left = (long)((double)(total - done) / ((double)done / s) + 0.5);
        buf_printf(&line, "  ETA %ld:%02ld:%02ld", left / 3600, left / 60 % 60, left % 60);
    }
    progress_draw(p, (double)done / (double)total, line.data);
    buf_release(&line);
}

int cmd_load(struct run *run, const char *path, const char *run_id, struct err *e)
{
    struct progress_line bar;
    struct load_opts opts = {.run_id = run_id, .progress = show, .progress_arg = &bar};
    bool color;
    int rc;
    color_parse(NULL, &color, NULL);
    progress_start(&bar, 0, color);
    if (!bar.on)
        opts.progress = NULL;
    rc = run_load(run, path, &opts, e);
    progress_end(&bar);
    return rc;
}

/* SPDX-License-Identifier: MIT
 *
 * specter watch: a capture while it runs, from the files that it writes. The traced program is
 * neither asked nor slowed down.
 */
#include "cmd/cmd.h"

#include "base/buf.h"
#include "base/now.h"
#include "base/terminal.h"
#include "base/whole_file.h"
#include "report/screen.h"
#include "report/watch_report.h"
#include "watch/watch.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL_MIN_S 0.1
#define INTERVAL_MAX_S 3600
#define TERMINAL_LINES 24 /* of one that does not tell */

struct watch_opts {
    double interval_s;
    bool once, json;
    const char *metrics, *fail_on, *color;
};

static const struct opt watch_rows[] = {
    {"interval", 0, OPT_DOUBLE, offsetof(struct watch_opts, interval_s), "SECONDS",
     "between two refreshes (default: 1)"},
    {"once", 0, OPT_FLAG, offsetof(struct watch_opts, once), NULL, "show it once and end"},
    {"json", 0, OPT_FLAG, offsetof(struct watch_opts, json), NULL,
     "write JSON to stdout in place of the text; without --once an object a line"},
    {"openmetrics", 0, OPT_STR, offsetof(struct watch_opts, metrics), "FILE",
     "also write metrics for Prometheus' textfile collector, replaced at each refresh"},
    {"fail-on", 0, OPT_STR, offsetof(struct watch_opts, fail_on), "COND",
     "with --once: status 1 where a condition such as hangs>0 holds"},
    {"color", 0, OPT_STR, offsetof(struct watch_opts, color), "WHEN",
     "auto, always or never (default: auto, on a terminal without NO_COLOR)"},
    OPT_END,
};

static const char watch_details[] =
    "Shows a job under `specter capture` while it runs, from the traces in DIR (default: "
    "$SPECTER_OUTPUT, else ./traces): of each rank its step, the median of its last steps and "
    "their trend, its last operation and how long ago it was called, and how late it comes to "
    "collectives; the bus bandwidth of the collectives beside what the model predicts; and which "
    "rank hangs, in the words of `specter analyze`. On a terminal the screen is drawn anew "
    "in its place, elsewhere it is written at each refresh. Only files are read: the program is "
    "neither asked nor slowed down. It ends with the recording, or with Ctrl-C, which the "
    "recording does not notice.\n"
    "\n"
    "Conditions of --fail-on, several with commas between them (docs/watch.md):\n"
#define X(name, kind, lacks, help) "  " #name ": " help "\n"
    WATCH_VALUES(X)
#undef X
        "\n"
        "Exit status: 0 done, or ended by Ctrl-C; 1 a condition of --fail-on holds; 3 no such "
        "folder, "
        "traces that cannot be read, with --once also none, or the output cannot be written.";

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- the screen ---- */

struct watch_screen {
    bool in_place;
    size_t drawn; /* lines that stand there */
    bool waiting; /* the last text says that nothing is there yet */
    bool written; /* a text, where texts follow each other */
    enum color_when color;
};

static size_t lines_of_terminal(void)
{
    size_t rows = terminal_rows(stdout);
    return (rows > 2 ? rows : TERMINAL_LINES) - 1;
}

/* Over what stands there. Lines are not broken, so that one is always one, and no more are written
 * than there is room for: the terminal would scroll. */
static void draw_in_place(struct watch_screen *to, const struct buf *text)
{
    struct buf out = BUF_INIT;
    size_t lines = 0, most = lines_of_terminal();
    buf_puts(&out, "\033[?7l\r");
    if (to->drawn > 0)
        buf_printf(&out, "\033[%zuA", to->drawn);
    for (const char *p = text->data, *end; lines < most && (end = strchr(p, '\n')) != NULL;
         p = end + 1) {
        buf_put(&out, p, (size_t)(end - p));
        buf_puts(&out, "\033[K\n");
        lines++;
    }
    buf_puts(&out, "\033[J\033[?7h");
    fwrite(out.data, 1, out.len, stdout);
    to->drawn = lines;
    buf_release(&out);
}

static void show_text(struct watch_screen *to, const struct watch *w, const struct trace_folder *f)
{
    struct screen s;
    if (!w->has_traces && to->waiting)
        return;
    to->waiting = !w->has_traces;
    screen_init(&s, stdout, to->color);
    if (w->has_traces) {
        watch_text(w, f, &s, to->in_place ? lines_of_terminal() : 0);
    } else {
        buf_put_printable(&s.text, f->path, strlen(f->path));
        buf_puts(&s.text, ": no traces yet; waiting for a program under specter capture\n");
    }
    if (to->in_place) {
        draw_in_place(to, &s.text); /* has written it: screen_release() would again */
        buf_release(&s.text);
        return;
    }
    if (to->written)
        putchar('\n');
    to->written = true;
    screen_release(&s);
}

static void show_json(const struct watch *w, const struct trace_folder *f, bool once)
{
    cJSON *doc = watch_json(w, f);
    char *text = once ? cJSON_Print(doc) : cJSON_PrintUnformatted(doc);
    if (text == NULL)
        die("out of memory");
    puts(text);
    free(text);
    cJSON_Delete(doc);
}

/* ---- metrics ---- */

struct watch_metrics_file {
    const char *path; /* NULL: none */
    bool written, failing;
};

static int write_metrics(const char *path, const struct watch *w, struct err *e)
{
    struct whole_file f;
    struct buf text = BUF_INIT;
    if (whole_file_open(&f, path, e) < 0)
        return -1;
    watch_metrics(w, &text);
    fwrite(text.data, 1, text.len, f.out);
    buf_release(&text);
    return whole_file_close(&f, e);
}

/* Once written, a file that cannot be replaced is no reason to end: the job goes on, and the disk
 * may have room again. */
static int keep_metrics(struct watch_metrics_file *m, const struct watch *w, struct err *e)
{
    struct err why;
    if (m->path == NULL)
        return 0;
    if (!m->written) {
        m->written = write_metrics(m->path, w, e) == 0;
        return m->written ? 0 : -1;
    }
    if (write_metrics(m->path, w, &why) == 0) {
        m->failing = false;
        return 0;
    }
    if (!m->failing)
        fprintf(stderr, "specter: note: %s; tried again at each refresh\n", why.msg);
    m->failing = true;
    return 0;
}

/* ---- all of it ---- */

static void sleep_until(int64_t t_ns)
{
    const struct timespec t = {t_ns / 1000000000, t_ns % 1000000000};
    while (!interrupted && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

/* The first refresh reads all that was written before. */
static int first_poll(struct trace_folder *f, struct err *e)
{
    struct progress_line bar;
    int rc;
    progress_start(&bar, 0, COLOR_AUTO);
    f->progress = bar.on ? cmd_show_progress : NULL;
    f->progress_arg = &bar;
    rc = trace_folder_poll(f, e);
    progress_end(&bar);
    f->progress = NULL;
    return rc;
}

/* No trace has shown anything yet. -1 with e filled: waiting does not help, since one cannot be
 * read, or with --once. */
static int why_nothing(const struct trace_folder *f, bool once, struct err *e)
{
    for (size_t i = 0; i < f->count; i++) {
        if (f->list[i].error != 0)
            return err_set(e, ERR_INPUT, "cannot read '%s/%s': %s", f->path, f->list[i].name,
                           strerror(f->list[i].error));
    }
    return !once ? 0
                 : err_set(e, ERR_INPUT,
                           "no traces in '%s'; start the job with specter capture first", f->path);
}

/* One refresh. 1: it was the last. */
static int refresh(const struct watch_opts *o, struct trace_folder *f, struct watch_screen *to,
                   struct watch_metrics_file *metrics, struct err *e)
{
    struct watch w;
    int rc = 0;
    if ((f->count == 0 ? first_poll : trace_folder_poll)(f, e) < 0)
        return -1;
    watch_init(&w, f);
    if (!w.has_traces)
        rc = why_nothing(f, o->once, e);
    if (rc == 0)
        rc = keep_metrics(metrics, &w, e);
    if (rc == 0) {
        if (o->json)
            show_json(&w, f, o->once);
        else
            show_text(to, &w, f);
        if (fflush(stdout) != 0)
            rc = err_set(e, ERR_INPUT, "cannot write to stdout: %s", strerror(errno));
    }
    if (rc == 0 && o->fail_on != NULL)
        rc = watch_fail_on_apply(o->fail_on, &w, e);
    if (rc == 0)
        rc = o->once || (w.has_traces && w.ended);
    watch_release(&w);
    return rc;
}

static int watch(const struct watch_opts *o, struct trace_folder *f, struct err *e)
{
    const char *term = getenv("TERM");
    struct watch_screen to = {0};
    struct watch_metrics_file metrics = {.path = o->metrics};
    int64_t next_ns = now_ns();
    int rc = 0;
    if (color_parse(o->color, &to.color, e) < 0)
        return -1;
    to.in_place = !o->once && terminal_is(stdout) && term != NULL && strcmp(term, "dumb") != 0;
    catch_signals();
    while (rc == 0 && !interrupted) {
        rc = refresh(o, f, &to, &metrics, e);
        if (rc == 0) {
            next_ns += (int64_t)(o->interval_s * 1e9);
            if (next_ns < now_ns())
                next_ns = now_ns();
            sleep_until(next_ns);
        }
    }
    if (rc == 1 && !o->once)
        fprintf(stderr, "specter: the recording in '%s' has ended; next: specter analyze %s\n",
                f->path, f->path);
    else if (interrupted && !o->once && f->run[0] != '\0')
        fprintf(stderr, "specter: the recording in '%s' goes on\n", f->path);
    return rc < 0 ? -1 : 0;
}

static int check(const struct watch_opts *o, struct err *e)
{
    if (!(o->interval_s >= INTERVAL_MIN_S && o->interval_s <= INTERVAL_MAX_S))
        return err_set(e, ERR_USAGE, "--interval: %g is not within %g and %d seconds",
                       o->interval_s, INTERVAL_MIN_S, INTERVAL_MAX_S);
    if (o->fail_on != NULL && !o->once)
        return err_set(e, ERR_USAGE, "--fail-on needs --once (see 'specter help watch')");
    return o->fail_on != NULL ? watch_fail_on_check(o->fail_on, e) : 0;
}

static int run_watch(const struct command *self, int argc, char **argv, struct err *e)
{
    struct watch_opts o = {.interval_s = 1};
    struct trace_folder f;
    int n, status = cmd_parse(self, &o, argc, argv, false, &n, e);
    if (status != 0)
        return status;
    if (cmd_one_dir(self, n, argv, e) < 0 || check(&o, e) < 0)
        return (int)e->code;
    status = trace_folder_open(&f, cmd_input(n, argv), e);
    if (status == 0)
        status = watch(&o, &f, e);
    trace_folder_close(&f);
    return status < 0 ? (int)e->code : 0;
}

const struct command cmd_watch = {
    .name = "watch",
    .synopsis = "watch [DIR]" SYNOPSIS_ALL,
    .summary = "a running capture: steps, collectives, and which rank hangs",
    .details = watch_details,
    .rows = watch_rows,
    .run = run_watch,
};

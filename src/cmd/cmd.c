/* SPDX-License-Identifier: MIT
 *
 * Shared by all commands: finding them, their options, their help, their JSON.
 */
#include "cmd/cmd.h"

#include "analysis/limits.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/whole_file.h"
#include "report/table.h"
#include "trace/run.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ctrl-C, a kill or a hang-up while a command computes its result. */

static bool on_terminal; /* a progress bar may be there */

static void put(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return; /* there is no other place to tell it */
}

/* timeout(1) sends a signal twice, and another thread may take the second one. */
static atomic_flag taken = ATOMIC_FLAG_INIT;

static void on_signal(int number)
{
    if (atomic_flag_test_and_set(&taken))
        return;
    whole_file_remove_begun();
    if (on_terminal)
        put("\r\033[K");
    put("specter: interrupted, no result; files are whole, or as they were before\n");
    signal(number, SIG_DFL);
    raise(number); /* ends the process when the handler returns */
}

/* From now on SIGINT, SIGTERM and SIGHUP, where they would end the process, first remove files that
 * are begun (base/whole_file.h) and say on stderr what is kept; then they end it. */
static void interrupt_catch(void)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction had, ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    on_terminal = isatty(STDERR_FILENO);
    sigfillset(&ours.sa_mask);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        if (sigaction(ending[i], NULL, &had) == 0 && had.sa_handler == SIG_DFL)
            sigaction(ending[i], &ours, NULL);
    }
}

const struct command *const commands[] = {
#define X(name, task) &cmd_##name,
    COMMANDS(X)
#undef X
};

const size_t command_count = sizeof commands / sizeof *commands;

enum command_task {
#define X(task, title) TASK_##task,
    COMMAND_TASKS(X)
#undef X
};

static const char *const task_titles[] = {
#define X(task, title) title,
    COMMAND_TASKS(X)
#undef X
};

static const enum command_task task_of[] = {
#define X(name, task) TASK_##task,
    COMMANDS(X)
#undef X
};

const char *cmd_task_begins(size_t i)
{
    return i == 0 || task_of[i] != task_of[i - 1] ? task_titles[task_of[i]] : NULL;
}

const struct command *cmd_find(const char *name, struct err *e)
{
    const struct command *best = commands[0];
    for (size_t i = 0; i < command_count; i++) {
        if (strcmp(name, commands[i]->name) == 0)
            return commands[i];
        if (opt_distance(name, commands[i]->name) < opt_distance(name, best->name))
            best = commands[i];
    }
    if (opt_is_near(name, best->name))
        err_set(e, ERR_USAGE, "unknown command '%s'; did you mean '%s'? (see 'specter help')", name,
                best->name);
    else
        err_set(e, ERR_USAGE, "unknown command '%s' (see 'specter help')", name);
    return NULL;
}

int cmd_parse(const struct command *self, void *opts, int argc, char **argv, bool stop_at_operand,
              int *n, struct err *e)
{
    struct err why;
    bool help;
    *n = opt_parse(self->rows, opts, argc - 1, argv + 1, stop_at_operand, &help, &why);
    if (*n < 0) {
        err_set(e, ERR_USAGE, "%s (see 'specter help %s')", why.msg, self->name);
        return ERR_USAGE;
    }
    if (help) {
        cmd_help(self);
        return CMD_HELPED;
    }
    memmove(argv, argv + 1, (size_t)*n * sizeof *argv);
    argv[*n] = NULL;
    return 0;
}

int cmd_parse_options(const struct command *self, void *opts, int argc, char **argv, struct err *e)
{
    int n, status = cmd_parse(self, opts, argc, argv, false, &n, e);
    if (status != 0 || n == 0)
        return status;
    err_set(e, ERR_USAGE, "unexpected argument '%s' (see 'specter help %s')", argv[0], self->name);
    return ERR_USAGE;
}

int cmd_one_dir(const struct command *self, int n, char **argv, struct err *e)
{
    if (n <= 1)
        return 0;
    return err_set(e, ERR_USAGE, "one DIR at a time: '%s' is too much (see 'specter help %s')",
                   argv[1], self->name);
}

const char *cmd_input(int n, char **argv)
{
    const char *output = getenv("SPECTER_OUTPUT");
    if (n > 0)
        return argv[0];
    return output != NULL && output[0] != '\0' ? output : "./traces";
}

/* "-o" where the option has a letter, else "--output". */
static void put_option(struct buf *b, const struct opt *row)
{
    if (row->letter != 0)
        buf_printf(b, "-%c", row->letter);
    else
        buf_printf(b, "--%s", row->name);
}

/* Returns whether the synopsis itself names the option. */
static bool synopsis_names(const char *synopsis, const struct opt *row)
{
    struct buf name = BUF_INIT;
    bool found = false;
    put_option(&name, row);
    for (const char *at = synopsis; !found && (at = strstr(at, name.data)) != NULL; at++)
        found = (at == synopsis || strchr(" [|", at[-1]) != NULL) &&
                strchr(" ]|\n", at[name.len]) != NULL;
    buf_release(&name);
    return found;
}

void cmd_synopsis_line(struct buf *line, const struct command *self, const char **text)
{
    size_t len = strcspn(*text, "\n"), all = strlen(SYNOPSIS_ALL);
    bool every = len >= all && memcmp(*text + len - all, SYNOPSIS_ALL, all) == 0;
    buf_reset(line);
    buf_put(line, *text, every ? len - all : len);
    /* " [--json FILE]" and so on: the options that the synopsis does not name itself. */
    for (const struct opt *row = self->rows; every && row->name != NULL; row++) {
        if (synopsis_names(self->synopsis, row))
            continue;
        buf_puts(line, " [");
        put_option(line, row);
        buf_printf(line, "%s%s]", row->arg != NULL ? " " : "", row->arg != NULL ? row->arg : "");
    }
    *text += len + ((*text)[len] == '\n');
}

/* One usage line for each line of the synopsis. */
static void print_synopsis(const struct command *self)
{
    const char *text = self->synopsis, *before = "usage: specter ";
    const size_t indent = strlen(before);
    struct buf line = BUF_INIT;
    while (*text != '\0') {
        cmd_synopsis_line(&line, self, &text);
        fputs(before, stdout);
        opt_wrap(line.data, indent, indent, stdout);
        before = "   or: specter ";
    }
    buf_release(&line);
}

static bool starts_paragraph(const char *line)
{
    return *line == '\0' || *line == '\n' || *line == ' ';
}

/* Paragraphs, broken anew at column 80; lines that start with a space stay as they are. */
static void print_details(const char *text)
{
    struct buf paragraph = BUF_INIT;
    while (*text != '\0') {
        bool fixed = starts_paragraph(text);
        size_t len = strcspn(text, "\n");
        buf_put(&paragraph, text, len);
        text += len + (text[len] == '\n');
        if (fixed || starts_paragraph(text)) {
            opt_wrap(paragraph.data, 0, strspn(paragraph.data, " "), stdout);
            buf_reset(&paragraph);
        } else {
            buf_putc(&paragraph, ' ');
        }
    }
    buf_release(&paragraph);
}

void cmd_help(const struct command *self)
{
    print_synopsis(self);
    printf("\n%s\n\n", self->summary);
    if (self->details != NULL) {
        print_details(self->details);
        putchar('\n');
    }
    puts("options:");
    opt_help(self->rows, stdout);
}

int cmd_open_json(struct whole_file *f, const char *where, struct err *e)
{
    *f = (struct whole_file){.out = stdout};
    return strcmp(where, "-") == 0 ? 0 : whole_file_open(f, where, e);
}

int cmd_close_json(struct whole_file *f, struct err *e)
{
    fputc('\n', f->out);
    return f->out == stdout ? 0 : whole_file_close(f, e); /* main checks that stdout took it */
}

void cmd_wrote(const char *path)
{
    struct stat file;
    char bytes[32];
    if (stat(path, &file) == 0 && S_ISREG(file.st_mode))
        fprintf(stderr, "specter: wrote '%s', %s\n", path,
                text_bytes(bytes, sizeof bytes, (double)file.st_size));
}

int cmd_make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            return -1;
        *slash = '/';
    }
    return mkdir(path, 0700) < 0 && errno != EEXIST ? -1 : 0;
}

int cmd_write_json(struct cJSON *doc, const char *where, struct err *e)
{
    struct whole_file f;
    const int status = cmd_open_json(&f, where, e);
    char *text = cJSON_Print(doc);
    cJSON_Delete(doc);
    if (text == NULL)
        die("out of memory");
    if (status == 0)
        fputs(text, f.out);
    free(text);
    return status == 0 ? cmd_close_json(&f, e) : status;
}

int cmd_run_kind(const struct command *self, int argc, char **argv, struct err *e)
{
    const struct cmd_kind *kind = NULL;
    struct arena a;
    char known[256] = "";
    size_t len = 0;
    int n, status = cmd_parse(self, NULL, argc, argv, true, &n, e);
    if (status != 0)
        return status;
    for (size_t i = 0; i < self->nkinds && n > 0 && kind == NULL; i++)
        kind = strcmp(argv[0], self->kinds[i]->name) == 0 ? self->kinds[i] : NULL;
    if (kind == NULL) {
        for (size_t i = 0; i < self->nkinds && len < sizeof known; i++)
            len += (size_t)snprintf(known + len, sizeof known - len, "%s%s", i > 0 ? ", " : "",
                                    self->kinds[i]->name);
        if (n == 0)
            err_set(e, ERR_USAGE, "%s what? Known are %s (see 'specter help %s')", self->name,
                    known, self->name);
        else
            err_set(e, ERR_USAGE, "%s knows no '%.64s'; known are %s (see 'specter help %s')",
                    self->name, argv[0], known, self->name);
        return ERR_USAGE;
    }
    arena_init(&a);
    status = kind->run(&kind->command, n, argv, &a, e);
    arena_release(&a);
    return status;
}

#define QUIET_NS 500000000 /* what is done by then needs no bar */

static void put_bytes(struct buf *b, double bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    size_t i = 0;
    for (bytes /= 1000; bytes >= 1000 && i + 1 < sizeof units / sizeof *units; i++)
        bytes /= 1000;
    buf_printf(b, "%.*f %s", bytes < 10 ? 1 : 0, bytes, units[i]);
}

void cmd_show_progress(void *arg, uint64_t done, uint64_t total)
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

static struct load_shared *others_read;

void cmd_load_from(struct load_shared *shared)
{
    others_read = shared;
}

static cmd_read_together *read_together;

void cmd_load_together(cmd_read_together *read)
{
    read_together = read;
}

int cmd_load(struct run *run, const char *path, const char *run_id, struct err *e)
{
    struct progress_line bar;
    struct load_opts opts = {.run_id = run_id, .progress = cmd_show_progress, .progress_arg = &bar};
    int rc;
    run_init(run);
    if (read_together != NULL && read_together(path, run_id, e) < 0)
        return -1;
    opts.shared = others_read;
    interrupt_catch();
    progress_start(&bar, 0, COLOR_AUTO);
    if (!bar.on)
        opts.progress = NULL;
    rc = run_load(run, path, &opts, e);
    progress_end(&bar);
    return rc;
}

int cmd_with_run(const char *path, const char *run_id, int flags, cmd_report *report, void *arg,
                 struct err *e)
{
    struct run run;
    int status = cmd_load(&run, path, run_id, e);
    for (size_t i = 0; status == 0 && i < run.nnotes; i++)
        fprintf(stderr, "specter: note: %s\n", run.notes[i].text);
    if (status == 0 && !(flags & CMD_UNCHECKED))
        status = limits_check(&run, e);
    if (status == 0)
        status = report(arg, &run, e);
    if (status == 0 && (run_partial(&run) || (flags & CMD_STRICT && run_alone(&run))))
        status = ERR_PARTIAL;
    run_release(&run);
    return status < 0 ? (int)e->code : status;
}

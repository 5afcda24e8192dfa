/* SPDX-License-Identifier: MIT
 *
 * What all commands share: finding them, their options, their help, their JSON.
 */
#include "cmd/cmd.h"

#include "base/buf.h"
#include "specter/trace.h"
#include "trace/run.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
/* Libraries that the build can do without. */
#ifdef SPECTER_HAVE_SQLITE
#include <sqlite3.h>
#define SQLITE_NUMBER sqlite3_libversion()
#else
#define SQLITE_NUMBER "-"
#endif
#ifdef SPECTER_HAVE_ZSTD
#include <zstd.h>
#define ZSTD_NUMBER ZSTD_versionString()
#else
#define ZSTD_NUMBER "-"
#endif
#ifdef SPECTER_HAVE_YAML
#include <yaml.h>
#define YAML_NUMBER yaml_get_version_string()
#else
#define YAML_NUMBER "-"
#endif

static const struct command *const commands[] = {
#define X(name) &cmd_##name,
    COMMANDS(X)
#undef X
};

#define COMMAND_COUNT (sizeof commands / sizeof *commands)

const struct command *cmd_find(const char *name, struct err *e)
{
    const struct command *best = commands[0];
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
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
        return 0;
    }
    memmove(argv, argv + 1, (size_t)*n * sizeof *argv);
    argv[*n] = NULL;
    return -1;
}

int cmd_parse_options(const struct command *self, void *opts, int argc, char **argv, struct err *e)
{
    int n, status = cmd_parse(self, opts, argc, argv, false, &n, e);
    if (status >= 0 || n == 0)
        return status;
    err_set(e, ERR_USAGE, "unexpected argument '%s' (see 'specter help %s')", argv[0], self->name);
    return ERR_USAGE;
}

const char *cmd_input(int n, char **argv)
{
    const char *output = getenv("SPECTER_OUTPUT");
    if (n > 0)
        return argv[0];
    return output != NULL && output[0] != '\0' ? output : "./traces";
}

/* One usage line for each line of the synopsis. */
static void print_synopsis(const char *text)
{
    const char *before = "usage: specter ";
    const size_t indent = strlen(before);
    struct buf line = BUF_INIT;
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        buf_reset(&line);
        buf_put(&line, text, len);
        fputs(before, stdout);
        opt_wrap(line.data, indent, indent, stdout);
        before = "   or: specter ";
        text += len + (text[len] == '\n');
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
    print_synopsis(self->synopsis);
    printf("\n%s\n\n", self->summary);
    if (self->details != NULL) {
        print_details(self->details);
        putchar('\n');
    }
    puts("options:");
    opt_help(self->rows, stdout);
}

void cmd_help_all(void)
{
    puts("usage: specter COMMAND [OPTIONS] [ARGUMENTS]\n"
         "       specter help COMMAND\n"
         "       specter --version\n\n"
         "Records what a program does with NCCL and cuBLAS, analyzes it, and predicts its\n"
         "time on other hardware.\n\n"
         "commands:");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("  %-12s%s\n", commands[i]->name, commands[i]->summary);
    puts("\na run, from end to end:\n"
         "  specter capture -- torchrun --nproc_per_node=8 train.py\n"
         "  specter analyze\n"
         "  specter replay --gpu h100_sxm --network dgx_h100_400g");
}

void cmd_version(void)
{
    printf("specter " SPECTER_VERSION "\n"
           "trace format %d\n"
           "cJSON %s\n"
           "zlib %s\n",
           SPECTER_TRACE_VERSION, cJSON_Version(), zlibVersion());
    printf("SQLite %s\nzstd %s\nlibyaml %s\n", SQLITE_NUMBER, ZSTD_NUMBER, YAML_NUMBER);
}

void cmd_notes(const struct run *run)
{
    for (size_t i = 0; i < run->nnotes; i++)
        fprintf(stderr, "specter: note: %s\n", run->notes[i].text);
}

FILE *cmd_open_json(const char *where, struct err *e)
{
    FILE *out = strcmp(where, "-") == 0 ? stdout : fopen(where, "w");
    if (out == NULL)
        err_set(e, ERR_INPUT, "cannot write '%s': %s", where, strerror(errno));
    errno = 0;
    return out;
}

int cmd_close_json(FILE *out, const char *where, struct err *e)
{
    int failed;
    fputc('\n', out);
    if (out == stdout)
        return 0; /* main checks that stdout took it */
    failed = ferror(out);
    if (fclose(out) != 0 || failed)
        return err_set(e, ERR_INPUT, "cannot write '%s': %s", where, strerror(errno));
    return 0;
}

int cmd_write_json(struct cJSON *doc, const char *where, struct err *e)
{
    FILE *out = cmd_open_json(where, e);
    char *text = cJSON_Print(doc);
    cJSON_Delete(doc);
    if (text == NULL)
        die("out of memory");
    if (out != NULL)
        fputs(text, out);
    free(text);
    return out != NULL ? cmd_close_json(out, where, e) : -1;
}

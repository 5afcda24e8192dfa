/* SPDX-License-Identifier: MIT */
#include "cmd/program.h"

#include "base/arena.h"
#include "cmd/cmd.h"
#include "cmd/manual.h"
#include "cmd/pager.h"
#include "cmd/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A closed standard descriptor would be given to the first file we open, and talk or data would end
 * up in it. Read-only, so that writing to it still fails; closed again in what we execute. */
static void fill_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* For `make install`: --man FOLDER, --completion SHELL, --schema NAME. -1: none of these. */
static int run_manual(int argc, char **argv, struct err *e)
{
    static const struct {
        const char *option, *takes;
        int (*run)(const char *argument, struct err *e);
    } options[] = {
        {"--man", "folder", manual_write_pages},
        {"--completion", "shell: bash, zsh, fish", manual_completion},
        {"--schema", "name: trace, profiles, card", schema_print},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (strcmp(argv[1], options[i].option) != 0)
            continue;
        if (argc != 3)
            err_set(e, ERR_USAGE, "%s takes one %s", argv[1], options[i].takes);
        else
            options[i].run(argv[2], e);
        return (int)e->code;
    }
    return -1;
}

static int run_help(int argc, char **argv, struct err *e)
{
    const struct command *command;
    char asks[] = "--help";
    int status;
    if (argc < 2 || strcmp(argv[1], "help") == 0) {
        cmd_help_all();
        return 0;
    }
    status = run_manual(argc, argv, e);
    if (status >= 0)
        return status;
    command = cmd_find(argv[1], e);
    if (command == NULL)
        return ERR_USAGE;
    if (argc > 2 && command->nkinds > 0)
        return command->run(command, 3, (char *[]){argv[1], argv[2], asks, NULL}, e);
    cmd_help(command);
    return 0;
}

/* `specter FILE ...` is `specter analyze FILE ...`. */
static int run_analyze(int argc, char **argv, struct err *e)
{
    char name[] = "analyze", **words = array_new((size_t)argc + 2, sizeof *words);
    int status;
    words[0] = name;
    memcpy(words + 1, argv, (size_t)argc * sizeof *words);
    *e = (struct err){.code = ERR_NONE};
    status = cmd_analyze.run(&cmd_analyze, argc + 1, words, e);
    free(words);
    return status;
}

static int run(int argc, char **argv, struct err *e)
{
    const struct command *command;
    bool paged = argc < 1 || strcmp(argv[0], "--no-pager") != 0;
    if (!paged) {
        argc--;
        argv++;
    }
    if (argc < 1) {
        err_set(e, ERR_USAGE, "no command given (see 'specter help')");
        return ERR_USAGE;
    }
    if (strcmp(argv[0], "help") == 0 || strcmp(argv[0], "--help") == 0 ||
        strcmp(argv[0], "-h") == 0) {
        if (paged)
            pager_begin();
        return run_help(argc, argv, e);
    }
    if (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "-V") == 0 ||
        strcmp(argv[0], "version") == 0) {
        cmd_version();
        return 0;
    }
    command = cmd_find(argv[0], e);
    if (paged && (command != NULL ? command->paged : access(argv[0], F_OK) == 0))
        pager_begin();
    if (command == NULL && access(argv[0], F_OK) == 0)
        return run_analyze(argc, argv, e);
    return command != NULL ? command->run(command, argc, argv, e) : ERR_USAGE;
}

/* A full disk shows only when the last buffer is written. SIGPIPE keeps its default action: a
 * reader such as `head` that has seen enough ends us without a word. */
static bool output_written(bool shown)
{
    if (shown)
        errno = 0;
    if (shown && fflush(stdout) == 0 && !ferror(stdout))
        return true;
    fprintf(stderr, "specter: cannot write output: %s\n", errno ? strerror(errno) : "write error");
    return false;
}

int program_main(int argc, char **argv)
{
    struct err e = {.code = ERR_NONE};
    int status, why;
    bool shown;
    fill_standard_descriptors();
    status = run(argc - (argc > 0), argv + (argc > 0), &e);
    shown = pager_end(); /* before the message, which is about it */
    why = errno;
    if (e.code != ERR_NONE)
        fprintf(stderr, "specter: %s\n", e.msg);
    if (status == CMD_HELPED)
        status = 0;
    errno = why;
    return output_written(shown) ? status : ERR_INPUT;
}

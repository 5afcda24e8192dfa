/* SPDX-License-Identifier: MIT
 *
 * The body of main(): finds the command, calls it, reports; the pager, --version and help (cmd.h).
 */
#include "cmd/cmd.h"

#include "base/arena.h"
#include "base/terminal.h"
#include "specter/trace.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
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
#ifdef SPECTER_HAVE_XLSX
#include <xlsxwriter.h>
#define XLSX_NUMBER lxw_version()
#else
#define XLSX_NUMBER "-"
#endif

/* ---- pager ----
 *
 * Text that is longer than the screen goes through a pager, as git's does: $PAGER, else less with
 * -FRX where $LESS is not set. Only where stdout is a terminal that can do more than a typewriter.
 * PAGER=cat and PAGER= mean none.
 *
 *     pager_begin();             what is printed from here on is held back
 *     status = command->run(...);
 *     pager_end();               and now shown
 *
 * Bars and messages on stderr are not held back. A command that ends by exit() shows what it has
 * printed; one that a signal ends does not. */

#define ROWS_USUAL 24 /* of a terminal that does not tell */

static struct {
    int terminal, held; /* descriptors; -1: no text is held back */
    const char *program;
} pager = {.terminal = -1, .held = -1};

/* NULL: none is wanted. */
static const char *chosen_program(void)
{
    const char *term = getenv("TERM"), *program = getenv("PAGER");
    if (term == NULL || strcmp(term, "dumb") == 0)
        return NULL;
    if (program == NULL)
        return "less";
    return program[0] != '\0' && strcmp(program, "cat") != 0 ? program : NULL;
}

static bool is_longer_than_screen(void)
{
    size_t rows = terminal_rows(stdout), lines = 0;
    char block[4096];
    ssize_t n;
    off_t at = 0;
    for (; (n = pread(pager.held, block, sizeof block, at)) > 0; at += n) {
        for (ssize_t i = 0; i < n; i++)
            lines += block[i] == '\n';
    }
    return lines >= (rows > 0 ? rows : ROWS_USUAL);
}

/* Returns whether the pager ran. Ctrl-C is its business meanwhile. */
static bool run_pager(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    int status = 0;
    pid_t child;
    sigaction(SIGINT, &ignore, &before);
    child = fork();
    if (child == 0) {
        sigaction(SIGINT, &before, NULL);
        setenv("LESS", "FRX", 0);
        if (lseek(pager.held, 0, SEEK_SET) == 0 && dup2(pager.held, STDIN_FILENO) >= 0)
            execlp("sh", "sh", "-c", pager.program, (char *)NULL);
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &before, NULL);
    return child > 0 &&
           !(WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127));
}

static bool copy_held(void)
{
    char block[4096];
    ssize_t n, done;
    off_t at = 0;
    for (; (n = pread(pager.held, block, sizeof block, at)) > 0; at += n) {
        for (ssize_t from = 0; from < n; from += done) {
            done = write(STDOUT_FILENO, block + from, (size_t)(n - from));
            if (done < 0 && errno != EINTR)
                return false;
            done = done < 0 ? 0 : done;
        }
    }
    return true;
}

/* False: the text could not be written; errno says why. Nothing without pager_begin(). */
static bool pager_end(void)
{
    bool longer, written;
    int why;
    if (pager.held < 0)
        return true;
    written = fflush(stdout) == 0;
    longer = is_longer_than_screen();
    dup2(pager.terminal, STDOUT_FILENO);
    terminal_set_stdout(-1);
    if (!longer || !run_pager())
        written = copy_held() && written;
    why = errno;
    close(pager.terminal);
    close(pager.held);
    pager.terminal = pager.held = -1;
    errno = why;
    return written;
}

static void show_at_exit(void)
{
    pager_end();
}

static void pager_begin(void)
{
    static bool registered;
    pager.program = chosen_program();
    if (pager.program == NULL || pager.held >= 0 || !isatty(STDOUT_FILENO))
        return;
    pager.terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    pager.held = memfd_create("specter-output", MFD_CLOEXEC);
    if (pager.terminal < 0 || pager.held < 0 || dup2(pager.held, STDOUT_FILENO) < 0) {
        if (pager.terminal >= 0)
            close(pager.terminal);
        if (pager.held >= 0)
            close(pager.held);
        pager.terminal = pager.held = -1;
        return;
    }
    terminal_set_stdout(pager.terminal);
    if (!registered)
        atexit(show_at_exit);
    registered = true;
}

/* ---- the program ---- */

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

static void help_all(void)
{
    puts("usage: specter [--no-pager] COMMAND [OPTIONS] [ARGUMENTS]\n"
         "       specter help COMMAND\n"
         "       specter FILE [OPTIONS]      (specter analyze FILE)\n"
         "       specter --version\n");
    opt_wrap("Records what a program does with NCCL and cuBLAS, analyzes it, and predicts its time "
             "on other hardware.",
             0, 0, stdout);
    for (size_t i = 0; i < command_count; i++) {
        if (cmd_task_begins(i) != NULL)
            printf("\n%s:\n", cmd_task_begins(i));
        printf("  %-12s", commands[i]->name);
        opt_wrap(commands[i]->summary, 14, 14, stdout);
    }
    puts("\na run, from end to end:\n"
         "  specter capture -- torchrun --nproc_per_node=8 train.py\n"
         "  specter analyze\n"
         "  specter replay --gpu h100_sxm --network dgx_h100_400g");
}

static int run_help(int argc, char **argv, struct err *e)
{
    const struct command *command;
    char asks[] = "--help";
    int status;
    if (argc < 2 || strcmp(argv[1], "help") == 0) {
        help_all();
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

/* Of the program, the trace format and the libraries that are compiled in. */
static void version(void)
{
    printf("specter " SPECTER_VERSION "\n"
           "trace format %d\n"
           "cJSON %s\n"
           "zlib %s\n",
           SPECTER_TRACE_VERSION, cJSON_Version(), zlibVersion());
    printf("SQLite %s\nzstd %s\nlibyaml %s\nlibxlsxwriter %s\n", SQLITE_NUMBER, ZSTD_NUMBER,
           YAML_NUMBER, XLSX_NUMBER);
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
        version();
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

/* SPDX-License-Identifier: MIT
 *
 * From the name of a command to the program that runs in the end: through PATH, links, `#!` lines,
 * `env`, the shell scripts that pip and uv write for paths a `#!` line cannot hold, the shims of
 * pyenv, rbenv, asdf and mise, and scripts whose last line is `exec PROGRAM`. Any other shell
 * script may start whatever it likes: the shell is then the program, and p->unknown says so.
 */
#include "cmd/app.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/elf_file.h"
#include "base/err.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCRIPT_MAX 16384 /* wrappers are shorter */
#define WORDS_MAX 16

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static bool is_shell(const char *path)
{
    static const char *const names[] = {"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish"};
    return is_one_of(path_base_name(path), names, sizeof names / sizeof *names);
}

/* ---- words of a shell, as far as they can be known ---- */

struct words {
    const char *word[WORDS_MAX];
    size_t count;
};

/* Spellings by which scripts name their own folder and themselves. */
static const struct {
    const char *spelling;
    bool folder;
} own_spellings[] = {
    {"\"$(dirname -- \"$(realpath -- \"$0\")\")\"", true},
    {"\"$(dirname \"$0\")\"", true},
    {"$(dirname \"$0\")", true},
    {"$(dirname $0)", true},
    {"\"${0%/*}\"", true},
    {"${0%/*}", true},
    {"\"$program\"", false},
    {"\"${0##*/}\"", false},
    {"\"$(basename \"$0\")\"", false},
};

/* Appends what `at` spells of the script itself. Returns what is behind it; NULL: nothing of it. */
static const char *own_part(const char *at, const char *script, struct buf *word)
{
    char full[PATH_MAX];
    const char *slash;
    for (size_t i = 0; i < sizeof own_spellings / sizeof *own_spellings; i++) {
        size_t len = strlen(own_spellings[i].spelling);
        if (strncmp(at, own_spellings[i].spelling, len) != 0)
            continue;
        if (!own_spellings[i].folder)
            buf_puts(word, path_base_name(script));
        else if (realpath(script, full) != NULL && (slash = strrchr(full, '/')) != NULL)
            buf_put(word, full, (size_t)(slash - full));
        return at + len;
    }
    return NULL;
}

/* Appends the part of a word at `at`: plain, quoted, or of the script itself. Returns what is
 * behind it; NULL: only a shell can tell. */
static const char *word_part(const char *at, const char *script, struct buf *word)
{
    const char *behind = own_part(at, script, word);
    size_t len;
    char quote = *at;
    if (behind != NULL)
        return behind;
    if (quote == '\'' || quote == '"') {
        len = strcspn(++at, quote == '"' ? "\"$`\\" : "'");
        if (at[len] != quote)
            return NULL;
        buf_put(word, at, len);
        return at + len + 1;
    }
    len = strcspn(at, " \t\n'\"$`\\*?[;&|<>(){}#~");
    buf_put(word, at, len);
    return len > 0 ? at + len : NULL;
}

/* The words of a command line, up to the first that only a shell can tell. */
static struct words split_line(struct arena *a, const char *line, const char *script)
{
    struct words w = {{NULL}, 0};
    struct buf word = BUF_INIT;
    while (line != NULL && w.count < WORDS_MAX) {
        line += strspn(line, " \t");
        if (*line == '\0' || *line == '\n')
            break;
        buf_reset(&word);
        while (line != NULL && strchr(" \t\n", *line) == NULL)
            line = word_part(line, script, &word);
        if (line != NULL)
            w.word[w.count++] = arena_strdup(a, word.data);
    }
    buf_release(&word);
    return w;
}

/* Returns the index of the word that is the program: word i, or where that is `env` the first word
 * after its options and variables. w->count: there is none. */
static size_t program_word(const struct words *w, size_t i)
{
    if (i < w->count && strcmp(path_base_name(w->word[i]), "env") == 0) {
        for (i++; i < w->count && (w->word[i][0] == '-' || strchr(w->word[i], '=') != NULL); i++)
            i += strcmp(w->word[i], "-u") == 0 || strcmp(w->word[i], "-C") == 0;
    }
    return i < w->count ? i : w->count;
}

/* ---- version managers ---- */

/* Runs `TOOL which NAME` with the variables that the shim exports. Returns the path that it prints;
 * NULL: it fails, is late or prints no executable file. */
static const char *ask_manager(struct app *p, const struct words *exports, const char *tool,
                               const char *name)
{
    const char *argv[WORDS_MAX + 5] = {"env"}, *found = NULL;
    struct buf out = BUF_INIT;
    size_t n = 1;
    int status;
    for (size_t i = 0; i < exports->count; i++)
        argv[n++] = exports->word[i];
    argv[n++] = tool;
    argv[n++] = "which";
    argv[n++] = name;
    status = ask_program(argv, p->limit_s, &out);
    out.data[strcspn(out.data, "\n")] = '\0';
    if (status != ASK_LATE && WIFEXITED(status) && WEXITSTATUS(status) == 0 && out.data[0] == '/' &&
        access(out.data, X_OK) == 0)
        found = arena_strdup(p->arena, out.data);
    buf_release(&out);
    return found;
}

/* ---- scripts ---- */

/* Returns the text of a script; NULL: the file is none. A script that is longer than SCRIPT_MAX, or
 * holds a null byte, ends in an added line `:`, so that exec_line() takes no `exec` for its last
 * command. */
static const char *read_script(struct app *p, const char *path)
{
    char *text = arena_alloc(p->arena, SCRIPT_MAX + sizeof "\n:");
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, text, SCRIPT_MAX) : 0;
    if (fd >= 0)
        close(fd);
    if (n < 3 || memcmp(text, "#!", 2) != 0)
        return NULL;
    if (n == SCRIPT_MAX || strlen(text) < (size_t)n)
        strcpy(text + strlen(text), "\n:");
    return text;
}

/* The step from a file to the next one: 'file' <relation> 'next'. next NULL: from shell_lead(),
 * only a shell can tell; from link_lead() and lead_of(), there is no further step. */
struct lead {
    const char *relation, *next;
};

/* Lines `export NAME=VALUE` as env takes them. */
static struct words exports_of(struct app *p, const char *text, const char *path)
{
    struct words all = {{NULL}, 0};
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        struct words w;
        line += *line == '\n';
        if (strncmp(line, "export ", 7) != 0 || all.count == WORDS_MAX)
            continue;
        w = split_line(p->arena, line + 7, path);
        if (w.count == 1 && strchr(w.word[0], '=') != NULL)
            all.word[all.count++] = w.word[0];
    }
    return all;
}

/* Returns the rest of the line by which a shell script becomes another program, after `exec `;
 * NULL: none, or not for sure. pip, uv and conda write '''exec' in the second line, some "exec",
 * either of which Python reads as a string. Else the last command has to be an `exec` that is not
 * indented: an indented one may depend on a condition. */
static const char *exec_line(const char *text)
{
    const char *line = strchr(text, '\n'), *last = NULL;
    if (line != NULL && strncmp(line + 1, "'''exec' ", 9) == 0)
        return line + 10;
    if (line != NULL && strncmp(line + 1, "\"exec\" ", 7) == 0)
        return line + 8;
    for (; line != NULL; line = strchr(line + 1, '\n')) {
        const char *word = line + 1 + strspn(line + 1, " \t");
        if (*word != '\0' && *word != '\n' && *word != '#')
            last = line + 1;
    }
    /* A wrapper that changes LD_PRELOAD may start its program without libspecter.so. */
    if (last == NULL || strncmp(last, "exec ", 5) != 0 || strstr(text, "LD_PRELOAD") != NULL)
        return NULL;
    return last + 5;
}

/* Returns where a shell script leads. `exec TOOL exec NAME` is how shims of pyenv, rbenv and asdf
 * end. */
static struct lead shell_lead(struct app *p, const char *text, const char *path)
{
    struct lead lead = {NULL, NULL};
    const char *line = exec_line(text);
    struct words w = split_line(p->arena, line, path), exports;
    size_t i = program_word(&w, 0);
    char found[PATH_MAX];
    if (i + 2 < w.count && strcmp(w.word[i + 1], "exec") == 0) {
        exports = exports_of(p, text, path);
        lead.next = ask_manager(p, &exports, w.word[i], w.word[i + 2]);
        lead.relation = "is a shim for";
    } else if (i < w.count && (*w.word[i] == '/' || strchr(w.word[i], '/') == NULL) &&
               child_find(w.word[i], X_OK, found, sizeof found)) {
        /* Relative paths are not followed: the script may have changed its folder before. */
        lead.next = w.word[i];
        lead.relation = "is a wrapper of";
    }
    return lead;
}

/* Returns where a file that is no script leads. mise's shims are links to mise itself, which goes
 * by the name it is called. */
static struct lead link_lead(struct app *p, const char *path)
{
    static const char *const managers[] = {"mise", "rtx"};
    static const struct words none = {{NULL}, 0};
    struct lead lead = {"is a shim for", NULL};
    char full[PATH_MAX];
    if (realpath(path, full) != NULL && strcmp(path_base_name(full), path_base_name(path)) != 0 &&
        is_one_of(path_base_name(full), managers, sizeof managers / sizeof *managers))
        lead.next = ask_manager(p, &none, full, path_base_name(path));
    return lead;
}

/* ---- the way ---- */

/* Returns where any file leads. Sets p->unknown to a script whose program only a shell can tell; it
 * leads to the shell. next is NULL where the file is the program, or its first line names no
 * interpreter. */
static struct lead lead_of(struct app *p, const char *path)
{
    const char *text = read_script(p, path);
    struct lead interpreter = {"is a script for", NULL}, lead = {NULL, NULL};
    struct words w;
    size_t i;
    if (text == NULL)
        return link_lead(p, path);
    /* The interpreter that the first line names; through `env`, what that would find. */
    w = split_line(p->arena, text + 2, path);
    i = program_word(&w, 0);
    if (i < w.count)
        interpreter.next = w.word[i];
    if (interpreter.next != NULL && is_shell(interpreter.next)) {
        lead = shell_lead(p, text, path);
        if (lead.next == NULL)
            p->unknown = path;
    }
    return lead.next != NULL ? lead : interpreter;
}

enum app_state app_find(struct app *p, const char *name)
{
    char found[PATH_MAX];
    struct elf_file f;
    struct lead lead;
    int rc;
    if (!child_find(name, X_OK, found, sizeof found))
        return APP_MISSING;
    p->path = arena_strdup(p->arena, found);
    while ((lead = lead_of(p, p->path)).next != NULL) {
        struct app_step *s;
        if (p->step_count == APP_STEPS)
            return APP_TOO_MANY_STEPS;
        s = &p->steps[p->step_count++];
        *s = (struct app_step){p->path, lead.relation, lead.next};
        if (!child_find(lead.next, X_OK, found, sizeof found))
            return APP_NEXT_MISSING;
        p->path = s->next = arena_strdup(p->arena, found);
    }
    if (p->unknown == NULL && is_shell(p->path))
        p->unknown = p->path;
    if (realpath(p->path, found) == NULL)
        return APP_NOT_EXECUTABLE;
    p->file = arena_strdup(p->arena, found);
    rc = elf_file_open(&f, p->file, NULL);
    elf_file_close(&f);
    return rc < 0 ? APP_NOT_EXECUTABLE : APP_FOUND;
}

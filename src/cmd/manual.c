/* SPDX-License-Identifier: MIT
 *
 * Man pages and completions of shells, from the option rows of the commands (cmd.h).
 */
#include "cmd/cmd.h"

#include "base/buf.h"
#include "base/whole_file.h"
#include "model/profile.h"

#include <ctype.h>
#include <string.h>

#define FILLED 60 /* columns of a line of text, before a hyphen becomes two characters */

/* The date on man pages, set at a release with VERSION in the Makefile. */
#define REVISED "2026-11-27"

/* ---- man pages: the macros of man(7) ---- */

/* Text of which roff must not take anything for its own. */
static void put_roff(const char *text, size_t len, FILE *out)
{
    if (len > 0 && (text[0] == '.' || text[0] == '\''))
        fputs("\\&", out);
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else
            fputc(text[i], out);
    }
}

/* The same in lines that roff fills anew; words are kept whole. */
static void put_filled(const char *text, size_t len, FILE *out)
{
    size_t column = 0;
    for (const char *end = text + len; text < end;) {
        size_t word = strcspn(text, " ");
        word = word < (size_t)(end - text) ? word : (size_t)(end - text);
        if (column > 0 && column + word > FILLED) {
            fputc('\n', out);
            column = 0;
        } else if (column > 0) {
            fputc(' ', out);
        }
        put_roff(text, word, out);
        column += word + 1;
        text += word;
        while (text < end && *text == ' ')
            text++;
    }
}

static void put_filled_text(const char *text, FILE *out)
{
    put_filled(text, strlen(text), out);
}

/* Paragraphs; lines that begin with a space stay as they are. */
static void put_paragraphs(const char *text, FILE *out)
{
    bool fixed = false;
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        bool is_fixed = text[0] == ' ';
        if (is_fixed != fixed)
            fputs(is_fixed ? ".PP\n.nf\n" : ".fi\n", out);
        fixed = is_fixed;
        if (len == 0 && text[1] != '\0' && text[1] != ' ')
            fputs(".PP\n", out);
        if (len > 0) {
            (is_fixed ? put_roff : put_filled)(text, len, out);
            fputc('\n', out);
        }
        text += len + (text[len] == '\n');
    }
    fputs(fixed ? ".fi\n" : "", out);
}

static void put_options(const struct opt *rows, FILE *out)
{
    for (const struct opt *row = rows; row->name != NULL; row++) {
        fputs(".TP\n", out);
        fputs("\\fB", out);
        if (row->letter != 0)
            fprintf(out, "\\-%c\\fR, \\fB", row->letter);
        fputs("\\-\\-", out);
        put_filled_text(row->name, out);
        fputs("\\fR", out);
        if (row->arg != NULL) {
            fputs(" \\fI", out);
            put_filled_text(row->arg, out);
            fputs("\\fR", out);
        }
        fputc('\n', out);
        put_filled_text(row->help, out);
        fputc('\n', out);
    }
}

static void put_title(const char *command, const char *summary, FILE *out)
{
    fputs(".TH SPECTER", out);
    if (command != NULL) {
        fputc('-', out);
        for (const char *c = command; *c != '\0'; c++)
            fputc(toupper((unsigned char)*c), out);
    }
    fprintf(out, " 1 %s \"specter %s\" \"User Commands\"\n.SH NAME\nspecter", REVISED,
            SPECTER_VERSION);
    fprintf(out, "%s%s \\- %s\n", command != NULL ? "\\-" : "", command != NULL ? command : "",
            summary);
}

static void put_synopsis(const struct command *c, FILE *out)
{
    struct buf line = BUF_INIT;
    fputs(".SH SYNOPSIS\n.nf\n", out);
    for (const char *text = c->synopsis; *text != '\0';) {
        cmd_synopsis_line(&line, c, &text);
        fputs("specter ", out);
        put_roff(line.data, line.len, out);
        fputc('\n', out);
    }
    fputs(".fi\n", out);
    buf_release(&line);
}

static void put_kind(const struct cmd_kind *kind, FILE *out)
{
    fprintf(out, ".SS specter %s %s\n", kind->command.name, kind->name);
    put_filled_text(kind->command.summary, out);
    fputs("\n", out);
    put_options(kind->command.rows, out);
}

static void put_command_page(const struct command *c, FILE *out)
{
    put_title(c->name, c->summary, out);
    put_synopsis(c, out);
    if (c->details != NULL) {
        fputs(".SH DESCRIPTION\n", out);
        put_paragraphs(c->details, out);
    }
    fputs(".SH OPTIONS\n", out);
    put_options(c->rows, out);
    put_options((const struct opt[]){opt_help_row, OPT_END}, out);
    for (size_t k = 0; k < c->nkinds; k++)
        put_kind(c->kinds[k], out);
    fputs(".SH SEE ALSO\n.BR specter (1)\n", out);
}

static void put_main_page(FILE *out)
{
    put_title(NULL, "record, analyze and predict GPU training jobs", out);
    fputs(".SH SYNOPSIS\n.nf\nspecter COMMAND [OPTIONS] [ARGUMENTS]\nspecter FILE [OPTIONS]\n"
          "specter help COMMAND\nspecter \\-\\-version\n.fi\n.SH DESCRIPTION\n"
          "Records what a program does with NCCL and cuBLAS, analyzes it,\n"
          "and predicts its time on other hardware.\nspecter FILE is specter analyze FILE.\n.SH "
          "COMMANDS\n",
          out);
    for (size_t i = 0; i < command_count; i++) {
        if (cmd_task_begins(i) != NULL)
            fprintf(out, ".SS %s\n", cmd_task_begins(i));
        fprintf(out, ".TP\n.BR specter\\-%s (1)\n", commands[i]->name);
        put_filled_text(commands[i]->summary, out);
        fputc('\n', out);
    }
    fputs(".SH ENVIRONMENT\n.TP\n.B SPECTER_OUTPUT\nthe folder of traces, where none is named "
          "(default: ./traces)\n.TP\n.BR NO_COLOR \", \" COLUMNS\nno colour; columns of the "
          "terminal\n.SH EXIT STATUS\n.TP\n.B 0\ndone\n.TP\n.B 1\nthe answer is no\n.TP\n.B 2\n"
          "bad usage\n.TP\n.B 3\nbad or missing input\n.TP\n.B 4\npart of the input was lost\n",
          out);
}

/* c: NULL: the page of specter itself. */
static int write_page(const char *folder, const struct command *c, struct err *e)
{
    char path[4096];
    struct whole_file f;
    snprintf(path, sizeof path, "%s/specter%s%s.1", folder, c != NULL ? "-" : "",
             c != NULL ? c->name : "");
    if (whole_file_open(&f, path, e) < 0)
        return -1;
    if (c != NULL)
        put_command_page(c, f.out);
    else
        put_main_page(f.out);
    return whole_file_close(&f, e);
}

int manual_write_pages(const char *folder, struct err *e)
{
    int status = write_page(folder, NULL, e);
    for (size_t i = 0; i < command_count && status == 0; i++)
        status = write_page(folder, commands[i], e);
    return status;
}

/* ---- completions ---- */

/* A command, or one of its kinds ("bench gemm"). */
struct subject {
    const struct command *command;
    const char *kind; /* NULL: the command itself */
};

/* Calls `visit` for each command and each kind. */
static void each_subject(void (*visit)(const struct subject *, FILE *), FILE *out)
{
    for (size_t i = 0; i < command_count; i++) {
        visit(&(struct subject){commands[i], NULL}, out);
        for (size_t k = 0; k < commands[i]->nkinds; k++)
            visit(&(struct subject){&commands[i]->kinds[k]->command, commands[i]->kinds[k]->name},
                  out);
    }
}

static void put_gpus(FILE *out)
{
    for (size_t i = 0; i < gpu_profile_count; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", gpu_profiles[i].name);
}

static void put_networks(FILE *out)
{
    for (size_t i = 0; i < network_profile_count; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", network_profiles[i].name);
}

/* Options whose values are known, and the function that prints these. */
static const struct known_values {
    const char *options[2];
    void (*put)(FILE *);
} known_values[] = {
    {{"gpu", "from-gpu"}, put_gpus},
    {{"network", "from-network"}, put_networks},
};

#define NKNOWN (sizeof known_values / sizeof *known_values)

/* NULL: the option is none of these. */
static const struct known_values *find_values(const struct opt *row)
{
    for (size_t i = 0; i < NKNOWN; i++) {
        if (strcmp(row->name, known_values[i].options[0]) == 0 ||
            strcmp(row->name, known_values[i].options[1]) == 0)
            return &known_values[i];
    }
    return NULL;
}

static void bash_case(const struct subject *p, FILE *out)
{
    fprintf(out, "    '%s%s%s') options='", p->command->name, p->kind != NULL ? " " : "",
            p->kind != NULL ? p->kind : "");
    for (const struct opt *row = p->command->rows; row->name != NULL; row++)
        fprintf(out, "--%s ", row->name);
    fputs("--help'", out);
    if (p->kind == NULL && p->command->nkinds > 0) {
        fputs("; kinds='", out);
        for (size_t k = 0; k < p->command->nkinds; k++)
            fprintf(out, "%s%s", k > 0 ? " " : "", p->command->kinds[k]->name);
        fputs("'", out);
    }
    fputs(" ;;\n", out);
}

static void bash(FILE *out)
{
    fputs("# bash completion of specter, printed by `specter help --completion bash`\n"
          "_specter() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} options kinds "
          "commands='",
          out);
    for (size_t i = 0; i < command_count; i++)
        fprintf(out, "%s ", commands[i]->name);
    fputs("help version'\n    COMPREPLY=()\n"
          "    if ((COMP_CWORD == 1)) || [[ ${COMP_WORDS[1]} == help && COMP_CWORD -eq 2 ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$commands\" -- \"$word\"))\n        return\n    fi\n"
          "    case $last in\n",
          out);
    for (size_t i = 0; i < NKNOWN; i++) {
        const struct known_values *known = &known_values[i];
        fprintf(out, "    --%s | --%s) COMPREPLY=($(compgen -W '", known->options[0],
                known->options[1]);
        known->put(out);
        fputs("' -- \"$word\")) && return ;;\n", out);
    }
    fputs("    esac\n"
          "    case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n    'bench '[a-z]* | 'predict "
          "'[a-z]*) ((COMP_CWORD > 2)) && set -- \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" || set -- "
          "\"${COMP_WORDS[1]}\" ;;\n    *) set -- \"${COMP_WORDS[1]}\" ;;\n    esac\n"
          "    case $1 in\n",
          out);
    each_subject(bash_case, out);
    fputs("    esac\n    if [[ $word == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
          "    elif ((COMP_CWORD == 2)) && [[ -n $kinds ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$kinds\" -- \"$word\"))\n    fi\n}\n"
          "complete -o default -F _specter specter\n",
          out);
}

/* For zsh, inside quotes and brackets. */
static void put_zsh(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:", *text) != NULL)
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

static void zsh_case(const struct subject *p, FILE *out)
{
    fprintf(out, "    '%s%s%s') _arguments", p->command->name, p->kind != NULL ? " " : "",
            p->kind != NULL ? p->kind : "");
    for (const struct opt *row = p->command->rows; row->name != NULL; row++) {
        const struct known_values *known = find_values(row);
        fprintf(out, " \\\n        '*--%s[", row->name);
        put_zsh(row->help, out);
        fputc(']', out);
        if (row->arg != NULL) {
            fputc(':', out);
            put_zsh(row->arg, out);
            fputc(':', out);
            if (known != NULL) {
                fputc('(', out);
                known->put(out);
                fputc(')', out);
            } else {
                fputs("_files", out);
            }
        }
        fputc('\'', out);
    }
    fputs(" \\\n        '--help[show this help]' '*:file:_files' ;;\n", out);
}

static void zsh(FILE *out)
{
    fputs("#compdef specter\n# zsh completion of specter, printed by `specter help --completion "
          "zsh`\n_specter() {\n    local -a commands kinds\n    commands=(\n",
          out);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(out, "        '%s:", commands[i]->name);
        put_zsh(commands[i]->summary, out);
        fputs("'\n", out);
    }
    fputs("        'help:help of a command' 'version:versions'\n    )\n"
          "    if ((CURRENT == 2)); then\n        _describe command commands\n        _files\n"
          "        return\n    fi\n    local name=$words[2]\n    case $name in\n",
          out);
    for (size_t i = 0; i < command_count; i++) {
        if (commands[i]->nkinds == 0)
            continue;
        fprintf(out, "    %s) kinds=(", commands[i]->name);
        for (size_t k = 0; k < commands[i]->nkinds; k++)
            fprintf(out, "%s%s", k > 0 ? " " : "", commands[i]->kinds[k]->name);
        fputs(") ;;\n", out);
    }
    fputs("    esac\n    if (($#kinds)); then\n        if ((CURRENT == 3)); then\n"
          "            compadd $kinds\n            return\n        fi\n"
          "        name=\"$name $words[3]\"\n    fi\n    case $name in\n",
          out);
    each_subject(zsh_case, out);
    fputs("    esac\n}\nif [[ $zsh_eval_context == *file ]]; then compdef _specter specter; else "
          "_specter \"$@\"; fi\n",
          out);
}

/* For fish, inside single quotes. */
static void put_fish(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void fish_lines(const struct subject *p, FILE *out)
{
    for (const struct opt *row = p->command->rows; row->name != NULL; row++) {
        const struct known_values *known = find_values(row);
        fprintf(out, "complete -c specter -n '__fish_seen_subcommand_from %s%s%s' -l %s",
                p->command->name, p->kind != NULL ? "; and __fish_seen_subcommand_from " : "",
                p->kind != NULL ? p->kind : "", row->name);
        if (row->letter != 0)
            fprintf(out, " -s %c", row->letter);
        fputs(row->arg != NULL ? " -r" : "", out);
        if (known != NULL) {
            fputs(" -a '", out);
            known->put(out);
            fputc('\'', out);
        }
        fputs(" -d '", out);
        put_fish(row->help, out);
        fputs("'\n", out);
    }
    if (p->kind == NULL && p->command->nkinds > 0) {
        fprintf(out, "complete -c specter -f -n '__fish_seen_subcommand_from %s' -a '",
                p->command->name);
        for (size_t k = 0; k < p->command->nkinds; k++)
            fprintf(out, "%s%s", k > 0 ? " " : "", p->command->kinds[k]->name);
        fputs("'\n", out);
    }
}

static void fish(FILE *out)
{
    fputs("# fish completion of specter, printed by `specter help --completion fish`\n", out);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(out, "complete -c specter -n __fish_use_subcommand -a %s -d '", commands[i]->name);
        put_fish(commands[i]->summary, out);
        fputs("'\n", out);
    }
    each_subject(fish_lines, out);
}

int manual_completion(const char *shell, struct err *e)
{
    static const struct {
        const char *name;
        void (*print)(FILE *);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shell, shells[i].name) == 0) {
            shells[i].print(stdout);
            return 0;
        }
    }
    return err_set(e, ERR_USAGE, "--completion: '%.32s' is none of bash, zsh, fish", shell);
}

/* SPDX-License-Identifier: MIT */
#include "base/opt.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/terminal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GIVEN_MAX 256 /* of an option's name in a message */

/* One parse under way. */
struct parse {
    const struct opt *rows;
    void *opts;
    int argc, at; /* at: the next argument to look at */
    char **argv;
    bool *help;
};

int opt_word(const char *option, const char *text, const char *const *words, struct err *e)
{
    struct buf known = BUF_INIT;
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(text, words[i]) == 0)
            return i;
    }
    for (int i = 0; words[i] != NULL; i++)
        buf_printf(&known, "%s%s", i > 0 ? ", " : "", words[i]);
    err_set(e, ERR_USAGE, "%s: '%.64s' is none of %s", option, text, known.data);
    buf_release(&known);
    return -1;
}

bool opt_list_names(const char *list, const char *name)
{
    const size_t len = strlen(name);
    for (const char *p = list; p != NULL; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, name, len) == 0 && (p[len] == ',' || p[len] == '\0'))
            return true;
    }
    return false;
}

size_t opt_distance(const char *a, const char *b)
{
    size_t row[64], na = strlen(a), nb = strlen(b);
    if (nb >= sizeof row / sizeof *row)
        return na > nb ? na : nb;
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (best > row[j] + 1)
                best = row[j] + 1;
            if (best > row[j - 1] + 1)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

bool opt_is_near(const char *a, const char *b)
{
    return opt_distance(a, b) <= 1 + strlen(b) / 3;
}

int opt_parse_i64(const char *what, const char *text, int64_t *out, struct err *e)
{
    char *end;
    long long value;
    if (!isdigit((unsigned char)text[text[0] == '-']))
        return err_set(e, ERR_USAGE, "%s: '%s' is not a whole number", what, text);
    errno = 0;
    value = strtoll(text, &end, 10);
    if (*end != '\0')
        return err_set(e, ERR_USAGE, "%s: '%s' is not a whole number", what, text);
    if (errno == ERANGE)
        return err_set(e, ERR_USAGE, "%s: '%s' is out of range", what, text);
    *out = value;
    return 0;
}

int opt_parse_double(const char *what, const char *text, double *out, struct err *e)
{
    char *end;
    double value;
    /* strtod also knows hexadecimal, "inf" and "nan", which no option means. */
    if (text[strspn(text, "+-.0123456789eE")] != '\0' || text[0] == '\0')
        return err_set(e, ERR_USAGE, "%s: '%s' is not a number", what, text);
    value = strtod(text, &end);
    if (*end != '\0' || end == text)
        return err_set(e, ERR_USAGE, "%s: '%s' is not a number", what, text);
    if (!isfinite(value))
        return err_set(e, ERR_USAGE, "%s: '%s' is out of range", what, text);
    *out = value;
    return 0;
}

/* The factor of a suffix: k, KiB, M: powers of 1024; kB, MB: of 1000; 0: no such suffix. */
static uint64_t suffix_unit(const char *suffix)
{
    static const char letters[] = "KMGT";
    const char *letter;
    uint64_t unit = 1;
    bool decimal;
    if (suffix[0] == '\0' || strcmp(suffix, "B") == 0)
        return 1;
    letter = strchr(letters, toupper((unsigned char)suffix[0]));
    decimal = strcmp(suffix + 1, "B") == 0;
    if (letter == NULL || (suffix[1] != '\0' && strcmp(suffix + 1, "iB") != 0 && !decimal))
        return 0;
    for (const char *l = letters; l <= letter; l++)
        unit *= decimal ? 1000 : 1024;
    return unit;
}

/* "1e6", "2.5e9": whole numbers of bytes. */
static bool parse_exponent(const char *text, uint64_t *out)
{
    char *end;
    double value;
    if (!isdigit((unsigned char)text[0]) || text[strspn(text, "0123456789.+eE")] != '\0' ||
        strpbrk(text, "eE") == NULL)
        return false;
    value = strtod(text, &end);
    if (*end != '\0' || !(value < 1e19) || value != floor(value))
        return false;
    *out = (uint64_t)value;
    return true;
}

int opt_parse_bytes(const char *what, const char *text, uint64_t *out, struct err *e)
{
    size_t digits = strspn(text, "0123456789"), number = digits;
    uint64_t whole, unit;
    double part = 0;
    if (parse_exponent(text, out))
        return 0;
    if (text[digits] == '.') {
        number += 1 + strspn(text + digits + 1, "0123456789");
        part = strtod(text + digits, NULL);
    }
    unit = suffix_unit(text + number);
    if (digits == 0 || unit == 0)
        return err_set(e, ERR_USAGE,
                       "%s: '%s' is not a size; write 512, 64k, 64M, 1.5GiB (powers of 1024), 64MB "
                       "(of 1000), 1e6",
                       what, text);
    if (part > 0 && unit == 1)
        return err_set(e, ERR_USAGE, "%s: '%s' is not a whole number of bytes", what, text);
    errno = 0;
    whole = strtoull(text, NULL, 10);
    if (errno == ERANGE || __builtin_mul_overflow(whole, unit, &whole) ||
        __builtin_add_overflow(whole, (uint64_t)(part * (double)unit + 0.5), &whole))
        return err_set(e, ERR_USAGE, "%s: '%s' is out of range", what, text);
    *out = whole;
    return 0;
}

/* Reads "3" or "8-15" at *text and steps after it. */
static int parse_range(const char **text, int64_t *first, int64_t *last)
{
    char *end;
    if (!isdigit((unsigned char)**text))
        return -1;
    errno = 0;
    *first = *last = strtoll(*text, &end, 10);
    if (*end == '-' && isdigit((unsigned char)end[1]))
        *last = strtoll(end + 1, &end, 10);
    *text = end;
    return errno == ERANGE || *last < *first ? -1 : 0;
}

int opt_parse_list(const char *what, const char *text, struct opt_list *out, struct err *e)
{
    const char *p = text;
    int64_t first, last;
    out->count = 0;
    do {
        if (parse_range(&p, &first, &last) < 0 || (*p != '\0' && *p != ','))
            return err_set(e, ERR_USAGE, "%s: '%s' is not a list such as 1,2,4 or 0,8-15", what,
                           text);
        if ((uint64_t)(last - first) >= OPT_LIST_MAX - out->count)
            return err_set(e, ERR_USAGE, "%s: '%s' has more than %zu values", what, text,
                           OPT_LIST_MAX);
        ARRAY_GROW(out->values, out->cap, out->count + (size_t)(last - first) + 1);
        for (int64_t v = first; v <= last; v++)
            out->values[out->count++] = v;
    } while (*p++ == ',');
    return 0;
}

static int set_bytes(struct opt_bytes *out, const char *given, const char *text, struct err *e)
{
    if (opt_parse_bytes(given, text, &out->value, e) < 0)
        return -1;
    out->given = true;
    return 0;
}

static void add_text(struct opt_texts *out, const char *text)
{
    ARRAY_GROW(out->list, out->cap, out->count + 1);
    out->list[out->count++] = text;
}

static int set_value(const struct parse *p, const struct opt *row, const char *given,
                     const char *text, struct err *e)
{
    void *at = (char *)p->opts + row->offset;
    switch (row->type) {
    case OPT_FLAG:
        *(bool *)at = true;
        return 0;
    case OPT_STR:
        *(const char **)at = text;
        return 0;
    case OPT_I64:
        return opt_parse_i64(given, text, at, e);
    case OPT_DOUBLE:
        return opt_parse_double(given, text, at, e);
    case OPT_BYTES:
        return set_bytes(at, given, text, e);
    case OPT_LIST:
        return opt_parse_list(given, text, at, e);
    case OPT_TEXTS:
        add_text(at, text);
        return 0;
    }
    return 0;
}

/* The value of an option, from the next word, unless that begins with --. */
static const char *next_argument(struct parse *p, const struct opt *row, const char *given,
                                 struct err *e)
{
    if (p->at < p->argc && strncmp(p->argv[p->at], "--", 2) != 0)
        return p->argv[p->at++];
    err_set(e, ERR_USAGE, "option '%s' needs an argument: %s", given, row->arg);
    return NULL;
}

static int unknown_option(const struct parse *p, const char *given, struct err *e)
{
    const struct opt *best = NULL;
    for (const struct opt *row = p->rows; row->name != NULL; row++) {
        if (best == NULL ||
            opt_distance(given + 2, row->name) < opt_distance(given + 2, best->name))
            best = row;
    }
    if (best != NULL && opt_is_near(given + 2, best->name))
        return err_set(e, ERR_USAGE, "unknown option '%s'; did you mean '--%s'?", given,
                       best->name);
    return err_set(e, ERR_USAGE, "unknown option '%s'", given);
}

/* --name, --name=VALUE, --name VALUE. Words are not modified: `bench` starts ranks with the same.
 */
static int take_long(struct parse *p, const char *arg, struct err *e)
{
    const char *equals = strchr(arg, '='), *value = equals != NULL ? equals + 1 : NULL;
    const struct opt *row = p->rows;
    char given[GIVEN_MAX];
    snprintf(given, sizeof given, "%.*s", equals != NULL ? (int)(equals - arg) : GIVEN_MAX, arg);
    if (strcmp(given, "--help") == 0) {
        *p->help = true;
        return 0;
    }
    while (row->name != NULL && strcmp(row->name, given + 2) != 0)
        row++;
    if (row->name == NULL)
        return unknown_option(p, given, e);
    if (row->type == OPT_FLAG && value != NULL)
        return err_set(e, ERR_USAGE, "option '%s' takes no argument", given);
    if (row->type != OPT_FLAG && value == NULL && (value = next_argument(p, row, given, e)) == NULL)
        return -1;
    return set_value(p, row, given, value, e);
}

/* -a, -ab (two flags), -oVALUE, -o VALUE. */
static int take_letters(struct parse *p, const char *arg, struct err *e)
{
    for (const char *letter = arg + 1; *letter != '\0'; letter++) {
        const char given[] = {'-', *letter, '\0'}, *value = NULL;
        const struct opt *row = p->rows;
        if (*letter == 'h') {
            *p->help = true;
            return 0;
        }
        while (row->name != NULL && row->letter != *letter)
            row++;
        if (row->name == NULL)
            return err_set(e, ERR_USAGE, "unknown option '%s'", given);
        if (row->type == OPT_FLAG) {
            set_value(p, row, given, NULL, e);
            continue;
        }
        value = letter[1] != '\0' ? letter + 1 : next_argument(p, row, given, e);
        return value == NULL ? -1 : set_value(p, row, given, value, e);
    }
    return 0;
}

int opt_parse(const struct opt *rows, void *opts, int argc, char **argv, bool stop_at_operand,
              bool *help, struct err *e)
{
    struct parse p = {.rows = rows, .opts = opts, .argc = argc, .argv = argv, .help = help};
    int operands = 0;
    *help = false;
    while (p.at < argc && !*help) {
        char *arg = argv[p.at++];
        if (strcmp(arg, "--") == 0)
            break;
        if (arg[0] != '-' || arg[1] == '\0') {
            argv[operands++] = arg;
            if (stop_at_operand)
                break;
            continue;
        }
        if ((arg[1] == '-' ? take_long(&p, arg, e) : take_letters(&p, arg, e)) < 0)
            return -1;
    }
    while (p.at < argc)
        argv[operands++] = argv[p.at++];
    return operands;
}

/* Bytes up to the next space at which a line may be broken: "[-o DIR]", "77 %" stay together. */
static size_t unbroken(const char *text)
{
    size_t len = 0;
    for (int depth = 0;
         text[len] != '\0' && (depth > 0 || text[len] != ' ' || text[len + 1] == '%'); len++)
        depth += (text[len] == '[') - (text[len] == ']');
    return len;
}

void opt_wrap(const char *text, size_t column, size_t indent, FILE *out)
{
    const size_t width = terminal_line_width(out);
    opt_wrap_at(text, column, indent, width < OPT_COLUMNS ? width : OPT_COLUMNS, out);
}

void opt_wrap_at(const char *text, size_t column, size_t indent, size_t width, FILE *out)
{
    bool first = true;
    while (*text != '\0') {
        size_t word = unbroken(text);
        if (!first && column + 1 + word > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, word, out);
        column += word;
        text += word;
        text += *text == ' ';
        first = false;
    }
    fputc('\n', out);
}

/* Columns of "  -o, --output DIR". */
static size_t left_width(const struct opt *row)
{
    return 8 + strlen(row->name) + (row->arg ? 1 + strlen(row->arg) : 0);
}

static void print_row(const struct opt *row, size_t column, FILE *out)
{
    size_t width = left_width(row);
    const char letter[] = {'-', row->letter, ',', '\0'};
    fprintf(out, "  %3s --%s%s%s", row->letter ? letter : "", row->name, row->arg ? " " : "",
            row->arg ? row->arg : "");
    if (width + 2 > column) {
        fputc('\n', out);
        width = 0;
    }
    fprintf(out, "%*s", (int)(column - width), "");
    opt_wrap(row->help, column, column, out);
}

const struct opt opt_help_row = {"help", 'h', OPT_FLAG, 0, NULL, "show this help"};

void opt_help(const struct opt *rows, FILE *out)
{
    const size_t widest = 26; /* rows with a longer left side put their help on the next line */
    size_t column = left_width(&opt_help_row);
    for (const struct opt *row = rows; row->name != NULL; row++) {
        size_t width = left_width(row);
        if (width > column && width <= widest)
            column = width;
    }
    column += 2;
    for (const struct opt *row = rows; row->name != NULL; row++)
        print_row(row, column, out);
    print_row(&opt_help_row, column, out);
}

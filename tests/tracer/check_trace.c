/* SPDX-License-Identifier: MIT
 *
 * Holds trace files against include/specter/trace.h: every line is one JSON object, of a record
 * that the table knows, with the keys of its table, in order, those that are always there all
 * there, and values of the right kind. The file ends with a newline, or --torn allows it not to.
 *
 *     check_trace [--torn] FILE...         prints what is wrong; status 1
 */
#include "base/json.h"
#include "specter/trace.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { STR, U64, I64, US, F1, RAW };
enum when { ALWAYS, SOME };

struct field {
    const char *key;
    enum kind kind;
    enum when when;
};

#define X(_key, _kind, _when) {#_key, _kind, _when},
static const struct field init_fields[] = {SPECTER_INIT_FIELDS(X)};
static const struct field comm_fields[] = {SPECTER_COMM_FIELDS(X)};
static const struct field nccl_fields[] = {SPECTER_NCCL_FIELDS(X)};
static const struct field cublas_fields[] = {SPECTER_CUBLAS_FIELDS(X)};
static const struct field dep_fields[] = {SPECTER_DEP_FIELDS(X)};
static const struct field sync_fields[] = {SPECTER_SYNC_FIELDS(X)};
static const struct field clock_fields[] = {SPECTER_CLOCK_FIELDS(X)};
static const struct field copy_fields[] = {SPECTER_COPY_FIELDS(X)};
static const struct field untraced_fields[] = {SPECTER_UNTRACED_FIELDS(X)};
static const struct field graph_fields[] = {SPECTER_GRAPH_FIELDS(X)};
static const struct field plugin_fields[] = {SPECTER_PLUGIN_FIELDS(X)};
static const struct field mark_fields[] = {SPECTER_MARK_FIELDS(X)};
static const struct field sample_fields[] = {SPECTER_SAMPLE_FIELDS(X)};
static const struct field dump_fields[] = {SPECTER_DUMP_FIELDS(X)};
static const struct field shutdown_fields[] = {SPECTER_SHUTDOWN_FIELDS(X)};
#undef X

#define COUNT(_array) (sizeof(_array) / sizeof *(_array))

static const struct {
    const char *selector; /* how the line says what it is */
    const struct field *fields;
    size_t count;
} records[] = {
    {"\"event\":\"init\"", init_fields, COUNT(init_fields)},
    {"\"event\":\"comm\"", comm_fields, COUNT(comm_fields)},
    {"\"type\":\"nccl\"", nccl_fields, COUNT(nccl_fields)},
    {"\"type\":\"cublas\"", cublas_fields, COUNT(cublas_fields)},
    {"\"type\":\"dep\"", dep_fields, COUNT(dep_fields)},
    {"\"type\":\"sync\"", sync_fields, COUNT(sync_fields)},
    {"\"event\":\"clock\"", clock_fields, COUNT(clock_fields)},
    {"\"type\":\"copy\"", copy_fields, COUNT(copy_fields)},
    {"\"type\":\"untraced\"", untraced_fields, COUNT(untraced_fields)},
    {"\"type\":\"graph\"", graph_fields, COUNT(graph_fields)},
    {"\"type\":\"plugin\"", plugin_fields, COUNT(plugin_fields)},
    {"\"event\":\"mark\"", mark_fields, COUNT(mark_fields)},
    {"\"event\":\"sample\"", sample_fields, COUNT(sample_fields)},
    {"\"event\":\"dump\"", dump_fields, COUNT(dump_fields)},
    {"\"event\":\"shutdown\"", shutdown_fields, COUNT(shutdown_fields)},
};

/* A number with exactly so many digits after the point; 0: a whole one. */
static bool has_decimals(const char *from, const char *to, int decimals)
{
    const char *point = memchr(from, '.', (size_t)(to - from));
    return decimals == 0 ? point == NULL : point != NULL && to - point - 1 == decimals;
}

static bool value_fits(struct json *j, enum kind kind)
{
    char next = json_peek(j);
    const char *from = j->p, *to;
    bool number = next == '0' || next == '-';
    json_skip(j);
    to = j->p;
    if (next == 'n')
        return kind != RAW || to - from == 4;
    switch (kind) {
    case STR:
        return next == '"';
    case U64:
        return next == '0' && has_decimals(from, to, 0);
    case I64:
        return number && has_decimals(from, to, 0);
    case US:
        return number && has_decimals(from, to, 3);
    case F1:
        return number && has_decimals(from, to, 1);
    case RAW:
        break;
    }
    return true;
}

/* The index of the key's field, stepping over fields that need not be there; count: none. */
static size_t find_field(const struct field *fields, size_t count, size_t at, struct json_text key)
{
    while (at < count && !json_text_is(key, fields[at].key)) {
        if (fields[at].when == ALWAYS)
            return count;
        at++;
    }
    return at;
}

static const char *check_fields(const char *line, size_t len, const struct field *fields,
                                size_t count)
{
    static char text[256];
    struct json j;
    struct json_text key;
    size_t at = 0;
    json_init(&j, line, len);
    json_enter(&j, '{');
    while (json_next_key(&j, &key)) {
        at = find_field(fields, count, at, key);
        if (at == count || !value_fits(&j, fields[at].kind)) {
            snprintf(text, sizeof text, "key or value of '%.*s' is not as in the table",
                     (int)key.len, key.p);
            return text;
        }
        at++;
    }
    if (j.error != NULL)
        return j.error;
    while (at < count && fields[at].when == SOME)
        at++;
    return at == count ? NULL : "keys are missing at the end";
}

static const char *check_line(const char *line, size_t len)
{
    for (size_t i = 0; i < COUNT(records); i++) {
        if (memmem(line, len, records[i].selector, strlen(records[i].selector)) != NULL)
            return check_fields(line, len, records[i].fields, records[i].count);
    }
    return "a record that is not in the table";
}

/* Of a flight recording: nothing there, or just being written. */
static bool is_empty_slot(const char *line)
{
    size_t spaces = strspn(line, " ");
    return line[0] == '#' || (spaces > 0 && line[spaces] == '\n');
}

static int check_file(const char *path, bool torn)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t cap = 0, number = 0;
    ssize_t len;
    int bad = 0;
    if (f == NULL)
        return printf("%s: cannot be read\n", path), 1;
    while ((len = getline(&line, &cap, f)) > 0) {
        if (is_empty_slot(line))
            continue;
        bool whole = line[len - 1] == '\n';
        const char *wrong = whole  ? check_line(line, (size_t)len - 1)
                            : torn ? NULL
                                   : "the last line is cut";
        number++;
        if (wrong == NULL)
            continue;
        printf("%s:%zu: %s\n  %s", path, number, wrong, line);
        bad = 1;
    }
    if (number == 0)
        printf("%s: is empty\n", path);
    free(line);
    fclose(f);
    return bad || number == 0;
}

int main(int argc, char **argv)
{
    bool torn = argc > 1 && strcmp(argv[1], "--torn") == 0;
    int bad = argc < 2 + torn;
    for (int i = 1 + torn; i < argc; i++)
        bad |= check_file(argv[i], torn);
    return bad;
}

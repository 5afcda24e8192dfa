/* SPDX-License-Identifier: MIT
 *
 * Reading of fabric files. Numbers are parsed by hand: the host program may have set a locale whose
 * decimal point is a comma.
 */
#include "fabric.h"
#include "hash.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core.h"

enum kind { TEXT_KEY, INT_KEY, COUNT_KEY, REAL_KEY, RATE_KEY, LIST_KEY };

struct fabric_key {
    const char *name;
    enum kind kind;
    size_t offset;
    const char *text;     /* default of a TEXT key */
    double number;        /* default of the others */
    unsigned least, most; /* numbers on a line of a LIST key */
    int positive;         /* which of them is above 0, or -1 */
};

#define KEY(_kind, _key, _text, _number) \
    {#_key, _kind, offsetof(struct emu_fabric, _key), _text, _number, 0, 0, -1},

static const struct fabric_key keys[] = {
#define TEXT(_key, _default) KEY(TEXT_KEY, _key, _default, 0)
#define INT(_key, _default) KEY(INT_KEY, _key, NULL, _default)
#define COUNT(_key, _default) KEY(COUNT_KEY, _key, NULL, _default)
#define REAL(_key, _default) KEY(REAL_KEY, _key, NULL, _default)
#define RATE(_key, _default) KEY(RATE_KEY, _key, NULL, _default)
#define LIST(_key, _least, _most, _positive) \
    {#_key, LIST_KEY, offsetof(struct emu_fabric, _key), NULL, 0, _least, _most, _positive},
#define API(_function, _ns)
#include "fabric.def"
#undef API
};

struct function_cost {
    char function[48];
    uint64_t ns;
};

static struct function_cost costs[256] = {
#define TEXT(_key, _default)
#define INT(_key, _default)
#define REAL(_key, _default)
#define API(_function, _ns) {#_function, _ns},
#include "fabric.def"
#undef API
};

static struct emu_fabric fabric;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void put_number(struct emu_fabric *f, const struct fabric_key *key, double value)
{
    char *at = (char *)f + key->offset;
    if (key->kind == INT_KEY || key->kind == COUNT_KEY)
        *(uint64_t *)(void *)at = (uint64_t)value;
    else
        *(double *)(void *)at = value;
}

static void put_text(struct emu_fabric *f, const struct fabric_key *key, const char *text,
                     size_t len)
{
    char *at = (char *)f + key->offset;
    snprintf(at, sizeof f->gpu_name, "%.*s", (int)len, text);
}

static struct emu_list *list_of(struct emu_fabric *f, const struct fabric_key *key)
{
    return (struct emu_list *)(void *)((char *)f + key->offset);
}

void emu_fabric_defaults(struct emu_fabric *f)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].kind == LIST_KEY)
            list_of(f, &keys[i])->count = 0;
        else if (keys[i].kind == TEXT_KEY)
            put_text(f, &keys[i], keys[i].text, strlen(keys[i].text));
        else
            put_number(f, &keys[i], keys[i].number);
}

/* Larger figures make no sense, and a double may not hold them exactly. */
#define NUMBER_MAX 1e15

/* A non-negative decimal number that fills the text. */
static bool parse_number(const char *text, size_t len, double *value)
{
    double scale = 0;
    bool any = false;
    *value = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '.' && scale == 0) {
            scale = 1;
            continue;
        }
        if (text[i] < '0' || text[i] > '9')
            return false;
        any = true;
        *value = *value * 10 + (text[i] - '0');
        scale *= 10;
    }
    if (scale > 0)
        *value /= scale;
    return any && *value <= NUMBER_MAX;
}

/* Adds a line of numbers, with a sign or without, between blanks or `>`. */
static bool parse_line_of_list(struct emu_list *list, const struct fabric_key *key,
                               const char *text, size_t len)
{
    double *line = list->line[list->count];
    unsigned count = 0;
    if (list->count == EMU_LINES)
        return false;
    memset(line, 0, sizeof *list->line);
    for (size_t i = 0; i < len;) {
        size_t begin = i;
        bool negative;
        while (i < len && strchr(" \t>", text[i]) == NULL)
            i++;
        if (i == begin) {
            i++;
            continue;
        }
        negative = text[begin] == '-';
        if (count == key->most ||
            !parse_number(text + begin + negative, i - begin - negative, &line[count]))
            return false;
        line[count] = negative ? -line[count] : line[count];
        count++;
    }
    list->count++;
    return count >= key->least && (key->positive < 0 || line[key->positive] > 0);
}

static struct function_cost *find_cost(const char *function, size_t len)
{
    struct function_cost *c = costs;
    while (c < costs + sizeof costs / sizeof *costs - 1 && c->function[0]) {
        if (strlen(c->function) == len && memcmp(c->function, function, len) == 0)
            return c;
        c++;
    }
    return c;
}

static bool set_cost(const char *function, size_t len, double ns)
{
    struct function_cost *c = find_cost(function, len);
    if (len >= sizeof c->function)
        return false;
    snprintf(c->function, sizeof c->function, "%.*s", (int)len, function);
    c->ns = (uint64_t)ns;
    return true;
}

static bool set_key(struct emu_fabric *f, const char *name, size_t name_len, const char *value,
                    size_t value_len)
{
    double number = 0;
    bool is_number = parse_number(value, value_len, &number);
    if (name_len > 7 && memcmp(name, "api_ns.", 7) == 0)
        return is_number && set_cost(name + 7, name_len - 7, number);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        bool positive = keys[i].kind == COUNT_KEY || keys[i].kind == RATE_KEY;
        if (strlen(keys[i].name) != name_len || memcmp(keys[i].name, name, name_len) != 0)
            continue;
        if (keys[i].kind == TEXT_KEY) {
            put_text(f, &keys[i], value, value_len);
            return true;
        }
        if (keys[i].kind == LIST_KEY)
            return parse_line_of_list(list_of(f, &keys[i]), &keys[i], value, value_len);
        if (is_number)
            put_number(f, &keys[i], number);
        return is_number && (number > 0 || !positive);
    }
    return false;
}

/* Cuts blanks off both ends. */
static void trim(const char **text, size_t *len)
{
    while (*len && strchr(" \t\r", (*text)[*len - 1]) != NULL)
        --*len;
    while (*len && strchr(" \t", **text) != NULL) {
        ++*text;
        --*len;
    }
}

static bool parse_line(struct emu_fabric *f, const char *line, size_t len)
{
    const char *hash = memchr(line, '#', len), *equals;
    if (hash != NULL)
        len = (size_t)(hash - line);
    trim(&line, &len);
    if (!len)
        return true;
    equals = memchr(line, '=', len);
    if (equals == NULL)
        return false;

    const char *value = equals + 1;
    size_t name_len = (size_t)(equals - line), value_len = len - name_len - 1;

    trim(&line, &name_len);
    trim(&value, &value_len);
    return set_key(f, line, name_len, value, value_len);
}

unsigned emu_fabric_parse(struct emu_fabric *f, const char *text, size_t len)
{
    unsigned number = 0;
    while (len) {
        const char *newline = memchr(text, '\n', len);
        size_t line = newline != NULL ? (size_t)(newline - text) : len;
        number++;
        if (!parse_line(f, text, line))
            return number;
        text += line + (newline != NULL);
        len -= line + (newline != NULL);
    }
    return 0;
}

static void load(void)
{
    const char *path = secure_getenv("EMU_FABRIC");
    static char text[65536];
    ssize_t len = -1;
    unsigned bad;
    int fd;
    emu_fabric_defaults(&fabric);
    if (path == NULL || !*path)
        return;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        len = read(fd, text, sizeof text);
        close(fd);
    }
    if (len < 0)
        emu_die("EMU_FABRIC: cannot read '%s'", path);
    bad = emu_fabric_parse(&fabric, text, (size_t)len);
    if (bad)
        emu_die("%s:%u: not a 'key = value' of fabric.def", path, bad);
}

const struct emu_fabric *emu_fabric(void)
{
    pthread_once(&once, load);
    return &fabric;
}

uint64_t emu_fabric_api_ns(const char *function)
{
    const struct function_cost *c;
    pthread_once(&once, load);
    c = find_cost(function, strlen(function));
    return c->function[0] && strcmp(c->function, function) == 0 ? c->ns : fabric.api_ns;
}

/* ---- single links ---- */

static void slow_down(struct emu_link *link, double factor, double ns)
{
    link->GBps *= factor;
    link->latency_ns += ns;
}

/* The kinds of work that take longer in a whole run, each by a draw of its own. */
enum run_draw { RUN_COMPUTES, RUN_LINKS };

static double run_factor(const struct emu_fabric *f, enum run_draw draw)
{
    return 1 + f->run_jitter * emu_unit(emu_hash(emu_hash(f->seed, 0x72756e), draw));
}

double emu_fabric_speed(const struct emu_fabric *f, unsigned gpu)
{
    double speed = 1 / run_factor(f, RUN_COMPUTES);
    for (unsigned i = 0; i < f->slow_gpu.count; i++)
        speed *= (unsigned)f->slow_gpu.line[i][0] == gpu ? f->slow_gpu.line[i][1] : 1;
    return speed;
}

struct emu_link emu_fabric_link(const struct emu_fabric *f, unsigned from, unsigned to, bool near)
{
    struct emu_link link = {(near ? f->intra_GBps : f->inter_GBps) / run_factor(f, RUN_LINKS),
                            (double)(near ? f->intra_latency_ns : f->inter_latency_ns)};
    for (unsigned i = 0; i < f->slow_link.count; i++) {
        const double *line = f->slow_link.line[i];
        if ((unsigned)line[0] == from && (unsigned)line[1] == to)
            slow_down(&link, line[2], line[3]);
    }
    for (unsigned i = 0; !near && i < f->slow_nic.count; i++) {
        const double *line = f->slow_nic.line[i];
        unsigned gpu = (unsigned)(line[0] * (double)f->gpus_per_node + line[1]);
        if (gpu == from || gpu == to)
            slow_down(&link, line[2], line[3]);
    }
    return link;
}

double emu_fabric_said(const struct emu_list *list, unsigned number)
{
    double sum = 0;
    for (unsigned i = 0; i < list->count; i++)
        if ((unsigned)list->line[i][0] == number)
            sum += list->line[i][1];
    return sum;
}

/* SPDX-License-Identifier: MIT */
#include "trace/hostlist.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct list {
    void (*add)(void *arg, const char *name);
    void *arg;
    size_t count; /* names given */
    char name[HOSTLIST_NAME_MAX + 1];
};

static int expand(struct list *l, size_t used, const char *text, const char *end);

/* One number of a range, then what follows the bracket. */
static int put_number(struct list *l, size_t used, int64_t number, int width, const char *rest,
                      const char *end)
{
    int n = snprintf(l->name + used, sizeof l->name - used, "%0*lld", width, (long long)number);
    if (n < 0 || (size_t)n >= sizeof l->name - used)
        return -1;
    return expand(l, used + (size_t)n, rest, end);
}

/* "001-003,007" between brackets. Each part gives a name, so that HOSTLIST_MAX bounds the work. */
static int put_ranges(struct list *l, size_t used, const char *text, const char *close,
                      const char *end)
{
    while (text <= close) { /* an empty part is an error, also the last one */
        long long low, high;
        int width = 0, n = 0;
        const char *comma = memchr(text, ',', (size_t)(close - text));
        char range[64];
        size_t len = (size_t)((comma != NULL ? comma : close) - text);
        if (len == 0 || len >= sizeof range)
            return -1;
        memcpy(range, text, len);
        range[len] = '\0';
        while (isdigit((unsigned char)range[width]))
            width++;
        if (width == 0 || width > 18 || sscanf(range, "%18lld-%18lld%n", &low, &high, &n) < 1)
            return -1;
        if (range[width] == '\0')
            high = low;
        else if (n == 0 || range[n] != '\0' || high < low || high - low >= HOSTLIST_MAX)
            return -1;
        for (; low <= high; low++) {
            if (put_number(l, used, low, width, close + 1, end) < 0)
                return -1;
        }
        text += len + 1;
    }
    return 0;
}

/* What stands in l->name, used bytes of it, with all forms of the rest. */
static int expand(struct list *l, size_t used, const char *text, const char *end)
{
    const char *open = memchr(text, '[', (size_t)(end - text));
    const char *close = open != NULL ? memchr(open, ']', (size_t)(end - open)) : NULL;
    size_t plain = (size_t)((open != NULL ? open : end) - text);
    if (used + plain > HOSTLIST_NAME_MAX || (open != NULL && close == NULL))
        return -1;
    for (size_t i = 0; i < plain; i++) {
        if (!isgraph((unsigned char)text[i]) || strchr("]=$`\"'(){}", text[i]) != NULL)
            return -1;
    }
    memcpy(l->name + used, text, plain);
    if (open != NULL)
        return put_ranges(l, used + plain, open + 1, close, end);
    l->name[used + plain] = '\0';
    if (used + plain == 0 || l->count++ == HOSTLIST_MAX)
        return -1;
    l->add(l->arg, l->name);
    return 0;
}

int hostlist_expand(const char *text, size_t len, void (*add)(void *arg, const char *name),
                    void *arg)
{
    struct list l = {.add = add, .arg = arg};
    const char *end = text + len;
    if (len == 0)
        return -1;
    while (text < end) {
        const char *stop = text;
        bool inside = false;
        for (; stop < end && (inside || *stop != ','); stop++)
            inside = *stop == '[' || (inside && *stop != ']');
        if (expand(&l, 0, text, stop) < 0)
            return -1;
        text = stop + 1;
    }
    return 0;
}

int tasklist_expand(const char *text, size_t len, void (*add)(void *arg, int64_t tasks), void *arg)
{
    char copy[32];
    const char *end = text + len;
    size_t count = 0;
    if (len == 0)
        return -1;
    while (text < end) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        size_t n = (size_t)((comma != NULL ? comma : end) - text);
        long long tasks, times = 1;
        int used = 0;
        if (n == 0 || n >= sizeof copy)
            return -1;
        memcpy(copy, text, n);
        copy[n] = '\0';
        if (sscanf(copy, "%9lld%n(x%9lld)%n", &tasks, &used, &times, &used) < 1 ||
            copy[used] != '\0' || tasks < 0 || times < 1 || (count += (size_t)times) > HOSTLIST_MAX)
            return -1;
        for (; times > 0; times--)
            add(arg, tasks);
        text += n + 1;
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "report/cut_text.h"

#include "report/table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ELLIPSIS "..."
#define NUMBER_COLUMNS 8 /* of " (12345)", at most */

/* A text, sorted beside those that read the same. */
struct cut {
    const char *shown, *text, *whole;
    size_t at;
};

/* Ways to tell texts apart, the plainest first. */
enum way { ENDS_OF_TEXT, ENDS_OF_WHOLE, NUMBER, CUT_WAYS };

static int by_shown(const void *pa, const void *pb)
{
    const struct cut *a = pa, *b = pb;
    int order = strcmp(a->shown, b->shown);
    if (order == 0)
        order = strcmp(a->whole, b->whole);
    return order != 0 ? order : (a->at > b->at) - (a->at < b->at);
}

/* All of a text, made safe: no character of it becomes longer by that. */
static char *safe(struct arena *arena, const char *text, size_t max)
{
    size_t size = strlen(text) + sizeof ELLIPSIS;
    return text_safe(arena_alloc(arena, size), size, text, max);
}

static bool starts_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

/* The last `columns` characters. */
static const char *tail_of(const char *text, size_t columns)
{
    const char *p = text + strlen(text);
    while (p > text && columns > 0)
        columns -= starts_character(*--p);
    return p;
}

/* Bytes of the first `columns` characters. */
static int head_of(const char *text, size_t columns)
{
    const char *p = text;
    while (*p != '\0' && (columns > 0 || !starts_character(*p)))
        columns -= starts_character(*p++);
    return (int)(p - text);
}

static size_t count_columns(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += starts_character(*text);
    return n;
}

/* Begin and end of the text: "void kernel<...int, 4>". */
static const char *cut_middle(struct arena *arena, const char *text, size_t max)
{
    const char *all = safe(arena, text, strlen(text));
    size_t left = max - strlen(ELLIPSIS), head = left / 2;
    if (max <= strlen(ELLIPSIS) || count_columns(all) <= max)
        return all;
    return arena_printf(arena, "%.*s" ELLIPSIS "%s", head_of(all, head), all,
                        tail_of(all, left - head));
}

static const char *numbered(struct arena *arena, const char *shown, size_t number, size_t max)
{
    size_t room = max > NUMBER_COLUMNS ? max - NUMBER_COLUMNS : 0;
    return arena_printf(arena, "%.*s (%zu)", head_of(shown, room), shown, number);
}

/* Of list[0..n), which read the same: shows more of those whose whole texts differ. */
static void distinguish(struct arena *arena, struct cut *list, size_t n, size_t max, enum way way)
{
    size_t number = 0;
    if (strcmp(list[0].whole, list[n - 1].whole) == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        struct cut *c = &list[i];
        number += i == 0 || strcmp(c->whole, list[i - 1].whole) != 0;
        if (way == NUMBER)
            c->shown = numbered(arena, c->shown, number, max);
        else
            c->shown = cut_middle(arena, way == ENDS_OF_TEXT ? c->text : c->whole, max);
    }
}

static void distinguish_all(struct arena *arena, struct cut *list, size_t n, size_t max,
                            enum way way)
{
    qsort(list, n, sizeof *list, by_shown);
    for (size_t i = 0, end; i < n; i = end) {
        const char *shown = list[i].shown;
        for (end = i + 1; end < n && strcmp(list[end].shown, shown) == 0;)
            end++;
        distinguish(arena, &list[i], end - i, max, way);
    }
}

void cut_texts(struct arena *arena, const char **shown, const char *const *whole, size_t n,
               size_t max)
{
    struct cut *list = array_new(n, sizeof *list);
    for (size_t i = 0; i < n; i++)
        list[i] = (struct cut){safe(arena, shown[i], max), shown[i], whole[i], i};
    for (int way = 0; way < CUT_WAYS && n > 0; way++)
        distinguish_all(arena, list, n, max, (enum way)way);
    for (size_t i = 0; i < n; i++)
        shown[list[i].at] = list[i].shown;
    free(list);
}

/* SPDX-License-Identifier: MIT */
#include "model/profile_reader.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/opt.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_LEN 63

/* ---- messages ---- */

int reader_check(struct profile_reader *r)
{
    return r->j.error != NULL ? reader_fail(r, "%s", r->j.error) : 0;
}

int reader_fail(struct profile_reader *r, const char *fmt, ...)
{
    char text[512];
    size_t line = 1;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < json_offset(&r->j); i++)
        line += r->j.start[i] == '\n';
    return err_set(r->e, ERR_INPUT, "%s:%zu: %s", r->label, line,
                   r->j.error != NULL ? r->j.error : text);
}

static const char *kind_of_value(char c)
{
    switch (c) {
    case '{':
        return "an object";
    case '[':
        return "an array";
    case '"':
        return "a text";
    case 't':
    case 'f':
        return "true or false";
    case 'n':
        return "null";
    default:
        return "a number";
    }
}

int reader_wrong_type(struct profile_reader *r, const char *key, const char *wanted)
{
    return reader_fail(r, "%s: %s is needed, not %s", key, wanted, kind_of_value(json_peek(&r->j)));
}

/* ---- keys ---- */

/* The keys that a profile's object may hold, under one number each: texts, figures, groups,
 * "base". */
static size_t key_count(const struct profile_kind *kind)
{
    return kind->ntexts + kind->nfields + kind->ngroups + 1;
}

static const char *key_name(const struct profile_kind *kind, size_t i)
{
    if (i < kind->ntexts)
        return kind->texts[i].name;
    i -= kind->ntexts;
    if (i < kind->nfields)
        return kind->fields[i].name;
    i -= kind->nfields;
    return i < kind->ngroups ? param_tables[kind->groups[i].group].name : "base";
}

static const char *kind_name_at(const void *list, size_t i)
{
    return key_name(list, i);
}

static const char *param_name_at(const void *list, size_t i)
{
    const struct param_table *table = list;
    return table->params[i].name;
}

static const char *word_at(const void *list, size_t i)
{
    return ((const char *const *)list)[i];
}

struct name_list names_of_kind(const struct profile_kind *kind)
{
    return (struct name_list){kind_name_at, kind, key_count(kind)};
}

static struct name_list names_of_params(const struct param_table *table)
{
    return (struct name_list){param_name_at, table, table->count};
}

struct name_list name_list_of(const char *const *words)
{
    size_t count = 0;
    while (words != NULL && words[count] != NULL)
        count++;
    return (struct name_list){word_at, words, count};
}

size_t names_find(struct name_list n, const char *name)
{
    size_t i = 0;
    while (i < n.count && strcmp(n.at(n.list, i), name) != 0)
        i++;
    return i;
}

/* The beginning of a name is close to it. */
static size_t how_far(const char *given, const char *name)
{
    return strncmp(given, name, strlen(given)) == 0 ? 0 : opt_distance(given, name);
}

static const char *names_nearest(struct name_list n, const char *name)
{
    const char *best = n.at(n.list, 0);
    for (size_t i = 1; i < n.count; i++) {
        if (how_far(name, n.at(n.list, i)) < how_far(name, best))
            best = n.at(n.list, i);
    }
    return best;
}

char *reader_text(struct profile_reader *r, struct json_text text)
{
    struct buf b = BUF_INIT;
    char *own;
    json_decode(text, &b);
    own = arena_strndup(r->arena, b.data, b.len);
    buf_release(&b);
    return own;
}

int reader_next_key(struct profile_reader *r, struct name_list n, uint64_t *seen, size_t *number)
{
    struct json_text key;
    const char *name;
    assert(n.count <= 64); /* one bit of `seen` each */
    if (!json_next_key(&r->j, &key))
        return reader_check(r);
    name = reader_text(r, key);
    *number = names_find(n, name);
    if (*number == n.count)
        return reader_fail(r, "unknown key '%.*s'; the nearest is '%s'", NAME_MAX_LEN, name,
                           names_nearest(n, name));
    if (*seen >> *number & 1)
        return reader_fail(r, "%s is given twice", name);
    *seen |= (uint64_t)1 << *number;
    return 1;
}

/* ---- values ---- */

static int check_range(struct profile_reader *r, const char *name, const char *unit, double lowest,
                       double highest, double value)
{
    const char *gap = unit[0] != '\0' ? " " : "";
    if (value == 0)
        return 0;
    if (!(value >= lowest))
        return reader_fail(r, "%s: %.10g is below %.10g%s%s", name, value, lowest, gap, unit);
    if (!(value <= highest))
        return reader_fail(r, "%s: %.10g is beyond %.10g%s%s", name, value, highest, gap, unit);
    if (strcmp(unit, "count") == 0 && value != floor(value))
        return reader_fail(r, "%s: %.10g is no whole number", name, value);
    return 0;
}

static int read_number(struct profile_reader *r, const char *name, const char *unit, double lowest,
                       double highest, void *at)
{
    char next = json_peek(&r->j);
    double value;
    if (next != '0' && next != '-')
        return reader_wrong_type(r, name, "a number");
    value = json_double(&r->j, 0);
    if (reader_check(r) < 0 || check_range(r, name, unit, lowest, highest, value) < 0)
        return -1;
    memcpy(at, &value, sizeof value);
    return 0;
}

/* A name goes into tables, keys and file names of others: one plain word. */
static bool is_plain(const char *text)
{
    size_t len = strlen(text);
    for (const char *p = text; *p != '\0'; p++) {
        if (!isalnum((unsigned char)*p) && strchr("_-.", *p) == NULL)
            return false;
    }
    return len > 0 && len <= NAME_MAX_LEN;
}

bool reader_has_control(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return true;
    }
    return false;
}

static int check_text(struct profile_reader *r, const struct profile_text *t, const char *value)
{
    bool word = strcmp(t->name, "name") == 0 || strcmp(t->name, "arch") == 0;
    struct name_list words = name_list_of(t->words);
    if (reader_has_control(value))
        return reader_fail(r, "%s: control characters are not allowed", t->name);
    if (word && !is_plain(value))
        return reader_fail(r, "%s: '%.*s' is no word of up to %d letters, digits, '_', '-' and '.'",
                           t->name, NAME_MAX_LEN, value, NAME_MAX_LEN);
    if (words.count > 0 && names_find(words, value) == words.count)
        return reader_fail(r, "%s: unknown '%.*s'; the nearest is '%s'", t->name, NAME_MAX_LEN,
                           value, names_nearest(words, value));
    return 0;
}

static int read_text(struct profile_reader *r, const struct profile_text *t, void *profile)
{
    const char *value;
    if (json_peek(&r->j) != '"')
        return reader_wrong_type(r, t->name, "a text");
    value = reader_text(r, json_string(&r->j));
    if (reader_check(r) < 0 || check_text(r, t, value) < 0)
        return -1;
    memcpy((char *)profile + t->offset, &value, sizeof value);
    return 0;
}

static int read_group(struct profile_reader *r, const struct param_table *table, void *values)
{
    uint64_t seen = 0;
    size_t i;
    int more;
    if (json_peek(&r->j) != '{')
        return reader_wrong_type(r, table->name, "an object");
    json_enter(&r->j, '{');
    while ((more = reader_next_key(r, names_of_params(table), &seen, &i)) > 0) {
        const struct param *p = &table->params[i];
        if (read_number(r, p->name, p->unit, p->lowest, p->highest, param_at(values, p)) < 0)
            return -1;
    }
    return more;
}

/* ---- a profile ---- */

static const void *find_base(const struct profile_kind *kind, const char *name, struct err *e)
{
    return kind == &gpu_kind ? (const void *)gpu_profile_find(name, e)
                             : (const void *)network_profile_find(name, e);
}

/* Wherever "base" stands in the object: what it names is overwritten by everything else. */
static int start_from_base(struct profile_reader *r, const struct profile_kind *kind, void *profile)
{
    struct profile_reader peek = *r;
    struct json_text key;
    struct err why = {0};
    json_enter(&peek.j, '{');
    while (json_next_key(&peek.j, &key)) {
        const void *base;
        if (!json_text_is(key, "base")) {
            json_skip(&peek.j);
            continue;
        }
        if (json_peek(&peek.j) != '"')
            return reader_wrong_type(&peek, "base", "a text");
        base = find_base(kind, reader_text(&peek, json_string(&peek.j)), &why);
        if (base == NULL)
            return reader_fail(&peek, "base: %s", why.msg);
        memcpy(profile, base, kind->size);
        break;
    }
    return 0;
}

static int read_key(struct profile_reader *r, const struct profile_kind *kind, size_t i,
                    char *profile)
{
    const struct profile_field *f;
    if (i < kind->ntexts)
        return read_text(r, &kind->texts[i], profile);
    i -= kind->ntexts;
    if (i < kind->nfields) {
        f = &kind->fields[i];
        return read_number(r, f->name, f->unit, f->lowest, f->highest, profile + f->offset);
    }
    i -= kind->nfields;
    if (i < kind->ngroups)
        return read_group(r, &param_tables[kind->groups[i].group],
                          profile + kind->groups[i].offset);
    json_skip(&r->j); /* base */
    return reader_check(r);
}

static int check_needed(struct profile_reader *r, const struct profile_kind *kind,
                        const void *profile, uint64_t seen)
{
    for (size_t i = 0; i < kind->ntexts; i++) {
        bool own = strcmp(kind->texts[i].name, "name") == 0; /* not the base's */
        const char *value = own && !(seen >> i & 1) ? NULL : profile_text(profile, &kind->texts[i]);
        if (kind->texts[i].needed && value == NULL)
            return reader_fail(r, "the %s has no %s%s", kind->name, kind->texts[i].name,
                               own ? "" : ", and no base to take it from");
    }
    return 0;
}

void *reader_profile(struct profile_reader *r, const struct profile_kind *kind)
{
    void *profile = arena_alloc(r->arena, kind->size);
    uint64_t seen = 0;
    size_t i;
    int more;
    if (json_peek(&r->j) != '{') {
        reader_wrong_type(r, kind->name, "an object");
        return NULL;
    }
    if (start_from_base(r, kind, profile) < 0)
        return NULL;
    json_enter(&r->j, '{');
    while ((more = reader_next_key(r, names_of_kind(kind), &seen, &i)) > 0) {
        if (read_key(r, kind, i, profile) < 0)
            return NULL;
    }
    return more == 0 && check_needed(r, kind, profile, seen) == 0 ? profile : NULL;
}

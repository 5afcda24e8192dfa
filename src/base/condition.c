/* SPDX-License-Identifier: MIT */
#include "base/condition.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum relation { ABOVE, AT_LEAST, BELOW, AT_MOST };

/* One condition, as a view into the expression. */
struct condition {
    const struct condition_table *table;
    size_t name; /* index into it */
    enum relation relation;
    double limit;
    bool of_change;   /* the limit is for the change of the number */
    const char *text; /* not terminated */
    int len;
};

static const struct condition_name *name_of(const struct condition *c)
{
    return &c->table->names[c->name];
}

static int not_a_condition(const struct condition *c, struct err *e)
{
    return err_set(e, ERR_USAGE, "cannot read '%.*s' of --fail-on: want NAME>NUMBER, such as %s",
                   c->len, c->text, c->table->example);
}

/* Sets c->name. -1 with e filled, which lists the known names: the name is none of them. */
static int find_name(struct condition *c, const char *text, size_t len, struct err *e)
{
    const struct condition_table *t = c->table;
    struct buf known = BUF_INIT;
    for (c->name = 0; c->name < t->n; c->name++) {
        if (strlen(t->names[c->name].name) == len && memcmp(t->names[c->name].name, text, len) == 0)
            return 0;
    }
    for (size_t i = 0; i < t->n; i++)
        buf_printf(&known, " %s", t->names[i].name);
    err_set(e, ERR_USAGE, "unknown name '%.*s' in --fail-on: there are%s", (int)len, text,
            known.data);
    buf_release(&known);
    return -1;
}

/* Reads the number after a relation, which % may follow. A signed percentage is one of the change
 * where the number has one. */
static int parse_limit(struct condition *c, const char *p, const char *end, struct err *e)
{
    char text[64];
    double scale = 1;
    if (p < end && end[-1] == '%') {
        c->of_change = (*p == '+' || *p == '-') && c->name < c->table->nchanges;
        if (!c->of_change && name_of(c)->kind != CONDITION_SHARE)
            return err_set(e, ERR_USAGE, "'%.*s' of --fail-on: %s is no share, so no percentage",
                           c->len, c->text, name_of(c)->name);
        scale = 0.01;
        end--;
    }
    while (end > p && isspace((unsigned char)end[-1]))
        end--;
    if (p == end || end - p >= (int)sizeof text)
        return not_a_condition(c, e);
    snprintf(text, sizeof text, "%.*s", (int)(end - p), p);
    if (opt_parse_double("--fail-on", text, &c->limit, e) < 0)
        return -1;
    if (!isfinite(c->limit))
        return not_a_condition(c, e);
    c->limit *= scale;
    return 0;
}

/* Reads text[0..len), which holds no comma. */
static int parse(struct condition *c, const struct condition_table *t, const char *text, size_t len,
                 struct err *e)
{
    const char *end = text + len, *p = text;
    while (p < end && isspace((unsigned char)*p))
        p++;
    while (end > p && isspace((unsigned char)end[-1]))
        end--;
    *c = (struct condition){.table = t, .text = p, .len = (int)(end - p)};
    const char *name = p;
    while (p < end && (isalnum((unsigned char)*p) || *p == '_'))
        p++;
    const char *name_end = p;
    while (p < end && isspace((unsigned char)*p))
        p++;
    if (name == name_end || p == end || (*p != '<' && *p != '>'))
        return not_a_condition(c, e);
    bool equal = p + 1 < end && p[1] == '=';
    c->relation = *p == '>' ? (equal ? AT_LEAST : ABOVE) : (equal ? AT_MOST : BELOW);
    p += equal ? 2 : 1;
    while (p < end && isspace((unsigned char)*p))
        p++;
    if (find_name(c, name, (size_t)(name_end - name), e) < 0)
        return -1;
    return parse_limit(c, p, end, e);
}

static bool condition_holds(const struct condition *c, double value)
{
    switch (c->relation) {
    case ABOVE:
        return value > c->limit;
    case AT_LEAST:
        return value >= c->limit;
    case BELOW:
        return value < c->limit;
    case AT_MOST:
        return value <= c->limit;
    }
    return false;
}

static int lacks_number(const struct condition *c, const char *lacks, struct err *e)
{
    return err_set(e, ERR_INPUT, "cannot judge '%.*s': the %s holds no %s", c->len, c->text,
                   c->table->holder, lacks);
}

/* A change within its noise does not hold; of one whose noise is not known it cannot be told. */
static int judge_change(const struct condition *c, const void *of, struct err *e)
{
    const char *lacks = "";
    const struct condition_change x = c->table->change(of, c->name, &lacks);
    if (isnan(x.change))
        return lacks_number(c, lacks, e);
    if (!condition_holds(c, x.change) || (x.low < x.high && x.low <= 0 && x.high >= 0))
        return 0;
    if (isnan(x.low))
        return err_set(e, ERR_INPUT,
                       "cannot judge '%.*s': %s changed by %+.1f %%, and how much it varies is not "
                       "known: compare several runs of each side",
                       c->len, c->text, name_of(c)->name, 100 * x.change);
    return err_set(e, ERR_NO, "%s changed by %+.1f %% (%d %%: %+.1f to %+.1f %%): '%.*s' holds",
                   name_of(c)->name, 100 * x.change, x.level, 100 * x.low, 100 * x.high, c->len,
                   c->text);
}

static int judge_one(const struct condition *c, const void *of, struct err *e)
{
    static const int decimals[] = {
        [CONDITION_SHARE] = 4, [CONDITION_COUNT] = 0, [CONDITION_TIME] = 3};
    const char *lacks = "";
    if (c->of_change)
        return judge_change(c, of, e);
    double value = c->table->value(of, c->name, &lacks);
    if (isnan(value))
        return lacks_number(c, lacks, e);
    if (condition_holds(c, value))
        return err_set(e, ERR_NO, "%s is %.*f: '%.*s' holds", name_of(c)->name,
                       decimals[name_of(c)->kind], value, c->len, c->text);
    return 0;
}

/* Reads every condition of the expression, and judges it on `of` unless that is NULL. A condition
 * that holds decides; one that cannot be judged does only where no other one holds, before it or
 * after it. */
static int judge_each(const struct condition_table *t, const char *expr, const void *of,
                      struct err *e)
{
    struct condition c;
    struct err unjudged = {0};
    for (const char *p = expr;; p++) {
        size_t len = strcspn(p, ",");
        struct err said = {0};
        if (parse(&c, t, p, len, e) < 0)
            return -1;
        if (of != NULL && judge_one(&c, of, &said) < 0) {
            if (said.code == ERR_NO)
                return err_set(e, said.code, "%s", said.msg);
            if (unjudged.code == 0)
                unjudged = said;
        }
        p += len;
        if (*p == '\0')
            return unjudged.code == 0 ? 0 : err_set(e, unjudged.code, "%s", unjudged.msg);
    }
}

int conditions_check(const struct condition_table *t, const char *expr, struct err *e)
{
    return judge_each(t, expr, NULL, e);
}

int conditions_apply(const struct condition_table *t, const char *expr, const void *of,
                     struct err *e)
{
    return judge_each(t, expr, of, e);
}

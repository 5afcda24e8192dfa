/* SPDX-License-Identifier: MIT */
#include "analysis/gate.h"

#include "base/opt.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* NAN: the trace has no such number. */
#define X(name, part, whole, help)                                                          \
    static double value_of_##name(const struct analysis *a)                                 \
    {                                                                                       \
        return analysis_timed(a) ? share_of(a->total.part##_ns, a->total.whole##_ns) : NAN; \
    }
GATE_SHARES(X)
#undef X

enum kind { SHARE, COUNT, TIME };

static const struct gate_name {
    const char *name;
    enum kind kind;
    double (*value)(const struct analysis *a);
    const char *lacks; /* when it is not known; NULL: a time of the split */
} names[] = {
#define X(name, part, whole, help) {#name, SHARE, value_of_##name, NULL},
    GATE_SHARES(X)
#undef X
#define X(name, kind, lacks, help) {#name, kind, gate_value_##name, lacks},
        GATE_VALUES(X)
#undef X
};

enum relation { ABOVE, AT_LEAST, BELOW, AT_MOST };

/* One condition, as a view into the expression. */
struct gate {
    const struct gate_name *what;
    enum relation relation;
    double limit;
    const char *text; /* not terminated */
    int len;
};

static int not_a_condition(struct err *e, const char *text, int len)
{
    return err_set(e, ERR_USAGE,
                   "cannot read '%.*s' of --fail-on: want NAME>NUMBER, such as exposed_comm>0.3",
                   len, text);
}

static const struct gate_name *name_find(const char *text, size_t len)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].name) == len && memcmp(names[i].name, text, len) == 0)
            return &names[i];
    }
    return NULL;
}

static int unknown_name(struct err *e, const char *text, int len)
{
    return err_set(e, ERR_USAGE,
                   "unknown name '%.*s' in --fail-on: there are"
#define X(name, part, whole, help) " " #name
                   GATE_SHARES(X)
#undef X
#define X(name, kind, lacks, help) " " #name
                       GATE_VALUES(X),
#undef X
                   len, text);
}

/* The number behind a relation: digits, optionally followed by %. */
static int parse_limit(struct gate *g, const char *p, const char *end, struct err *e)
{
    char text[64];
    double scale = 1;
    if (p < end && end[-1] == '%') {
        if (g->what->kind != SHARE)
            return err_set(e, ERR_USAGE, "'%.*s' of --fail-on: %s is no share, so no percentage",
                           g->len, g->text, g->what->name);
        scale = 0.01;
        end--;
    }
    while (end > p && isspace((unsigned char)end[-1]))
        end--;
    if (p == end || end - p >= (int)sizeof text)
        return not_a_condition(e, g->text, g->len);
    snprintf(text, sizeof text, "%.*s", (int)(end - p), p);
    if (opt_parse_double("--fail-on", text, &g->limit, e) < 0)
        return -1;
    if (!isfinite(g->limit))
        return not_a_condition(e, g->text, g->len);
    g->limit *= scale;
    return 0;
}

/* Reads text[0..len), which holds no comma. */
static int parse_gate(struct gate *g, const char *text, size_t len, struct err *e)
{
    const char *end = text + len, *p = text;
    while (p < end && isspace((unsigned char)*p))
        p++;
    while (end > p && isspace((unsigned char)end[-1]))
        end--;
    *g = (struct gate){.text = p, .len = (int)(end - p)};
    const char *name = p;
    while (p < end && (isalnum((unsigned char)*p) || *p == '_'))
        p++;
    const char *name_end = p;
    while (p < end && isspace((unsigned char)*p))
        p++;
    if (name == name_end || p == end || (*p != '<' && *p != '>'))
        return not_a_condition(e, g->text, g->len);
    bool equal = p + 1 < end && p[1] == '=';
    g->relation = *p == '>' ? (equal ? AT_LEAST : ABOVE) : (equal ? AT_MOST : BELOW);
    p += equal ? 2 : 1;
    while (p < end && isspace((unsigned char)*p))
        p++;
    g->what = name_find(name, (size_t)(name_end - name));
    if (g->what == NULL)
        return unknown_name(e, name, (int)(name_end - name));
    return parse_limit(g, p, end, e);
}

static bool holds(const struct gate *g, double value)
{
    switch (g->relation) {
    case ABOVE:
        return value > g->limit;
    case AT_LEAST:
        return value >= g->limit;
    case BELOW:
        return value < g->limit;
    case AT_MOST:
        return value <= g->limit;
    }
    return false;
}

static int judge(const struct gate *g, const struct analysis *a, struct err *e)
{
    static const int decimals[] = {[SHARE] = 4, [COUNT] = 0, [TIME] = 3};
    const char *lacks = g->what->lacks != NULL ? g->what->lacks
                        : analysis_timed(a)    ? "such time"
                                               : "device times";
    double value = g->what->value(a);
    if (isnan(value))
        return err_set(e, ERR_INPUT, "cannot judge '%.*s': the trace holds no %s", g->len, g->text,
                       lacks);
    if (holds(g, value))
        return err_set(e, ERR_NO, "%s is %.*f: '%.*s' holds", g->what->name,
                       decimals[g->what->kind], value, g->len, g->text);
    return 0;
}

/* Every condition of the expression, judged on `a` unless it is NULL. One that holds decides; one
 * that cannot be judged does only when no other one holds, wherever it stands. */
static int each_gate(const char *expr, const struct analysis *a, struct err *e)
{
    struct gate g;
    struct err unjudged = {0};
    for (const char *p = expr;; p++) {
        size_t len = strcspn(p, ",");
        struct err said = {0};
        if (parse_gate(&g, p, len, e) < 0)
            return -1;
        if (a != NULL && judge(&g, a, &said) < 0) {
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

int gate_check(const char *expr, struct err *e)
{
    return each_gate(expr, NULL, e);
}

int gate_apply(const char *expr, const struct analysis *a, struct err *e)
{
    return each_gate(expr, a, e);
}

/* SPDX-License-Identifier: MIT */
#include "report/analyze_report.h"

#include "base/opt.h"
#include "report/analyze_sheets.h"

#include <limits.h>
#include <string.h>

/* Returns whether the list (commas between names) holds this name. */
static bool lists(const char *names, const char *name)
{
    size_t len = strlen(name);
    for (const char *p = names; p != NULL; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, name, len) == 0 && (p[len] == '\0' || p[len] == ','))
            return true;
    }
    return false;
}

static const char *nearest(const char *name)
{
    const char *best = analyze_sheets[0].name;
    for (size_t i = 1; i < ANALYZE_SHEETS; i++) {
        if (opt_distance(name, analyze_sheets[i].name) < opt_distance(name, best))
            best = analyze_sheets[i].name;
    }
    return best;
}

static bool is_sheet(const char *name)
{
    for (size_t i = 0; i < ANALYZE_SHEETS; i++) {
        if (strcmp(name, analyze_sheets[i].name) == 0)
            return true;
    }
    return false;
}

int analyze_check_tables(const char *names, struct err *e)
{
    char name[64];
    for (const char *p = names; *p != '\0';) {
        size_t len = strcspn(p, ",");
        snprintf(name, sizeof name, "%.*s", (int)(len < sizeof name ? len : sizeof name), p);
        if (!is_sheet(name))
            return err_set(e, ERR_USAGE,
                           "there is no table '%s'; did you mean '%s'? ('specter help analyze' "
                           "lists them)",
                           name, nearest(name));
        p += len;
        p += *p == ',';
    }
    return 0;
}

static void print(const struct sheet *s, enum analyze_format format, bool alone, bool first,
                  FILE *out)
{
    if (format == ANALYZE_TABLE) {
        sheet_print(s, SIZE_MAX, out);
    } else if (format == ANALYZE_MD) {
        sheet_markdown(s, out);
    } else {
        if (!alone)
            fprintf(out, "%s# %s\n", first ? "" : "\n", s->name);
        sheet_csv(s, out);
    }
}

void analyze_tables(const struct analysis *a, const char *names, enum analyze_format format,
                    FILE *out)
{
    bool all = names[0] == '\0', alone = !all && strchr(names, ',') == NULL, first = true;
    for (size_t i = 0; i < ANALYZE_SHEETS; i++) {
        struct sheet s;
        if (!all && !lists(names, analyze_sheets[i].name))
            continue;
        analyze_sheets[i].make(&s, a);
        if (!all || sheet_rows(&s) > 0) {
            print(&s, format, alone, first, out);
            first = false;
        }
        sheet_release(&s);
    }
}

/* SPDX-License-Identifier: MIT */
#include "report/analyze_report.h"

#include "base/opt.h"
#include "report/analyze_sheets.h"
#include "report/table.h"

#include <limits.h>
#include <string.h>

#define LIST_COLUMNS 52 /* of what a table tells */

const struct analyze_sheet analyze_sheets[ANALYZE_SHEETS] = {
#define X(name, rows) {#name, rows, sheet_of_##name},
    SHEETS(X)
#undef X
};

static const char *nearest(const char *name)
{
    const char *best = analyze_sheets[0].name;
    for (size_t i = 1; i < ANALYZE_SHEETS; i++) {
        if (opt_distance(name, analyze_sheets[i].name) < opt_distance(name, best))
            best = analyze_sheets[i].name;
    }
    return best;
}

void analyze_list_tables(const struct analysis *a, FILE *out)
{
    struct table t;
    struct sheet sheets[ANALYZE_SHEETS];
    table_init(&t);
    table_column(&t, "table", TABLE_LEFT);
    table_column(&t, "rows", TABLE_RIGHT);
    table_column(&t, "what it tells", TABLE_LEFT);
    for (size_t i = 0; i < ANALYZE_SHEETS; i++) {
        analyze_sheets[i].make(&sheets[i], a);
        table_cell(&t, "%s", analyze_sheets[i].name);
        table_cell(&t, "%zu", sheet_rows(&sheets[i]));
        table_text(&t, sheets[i].title, LIST_COLUMNS);
    }
    table_print(&t, out);
    table_release(&t);
    for (size_t i = 0; i < ANALYZE_SHEETS; i++)
        sheet_release(&sheets[i]);
}

int analyze_check_tables(const char *names, struct err *e)
{
    char name[64];
    for (const char *p = names; *p != '\0';) {
        size_t len = strcspn(p, ",");
        snprintf(name, sizeof name, "%.*s", (int)(len < sizeof name ? len : sizeof name), p);
        if (strcmp(name, nearest(name)) != 0)
            return err_set(e, ERR_USAGE,
                           "there is no table '%s'; did you mean '%s'? ('specter help analyze' "
                           "lists them)",
                           name, nearest(name));
        p += len;
        p += *p == ',';
    }
    return 0;
}

void analyze_tables(const struct analysis *a, const char *names, enum analyze_format format,
                    FILE *out)
{
    bool all = names[0] == '\0', alone = !all && strchr(names, ',') == NULL, first = true;
    for (size_t i = 0; i < ANALYZE_SHEETS; i++) {
        struct sheet s;
        if (!all && !opt_list_names(names, analyze_sheets[i].name))
            continue;
        analyze_sheets[i].make(&s, a);
        if (all && sheet_rows(&s) == 0) {
            sheet_release(&s);
            continue;
        }
        if (format == ANALYZE_TABLE) {
            sheet_print(&s, SIZE_MAX, out);
        } else if (format == ANALYZE_MD) {
            sheet_markdown(&s, out);
        } else {
            if (!alone)
                fprintf(out, "%s# %s\n", first ? "" : "\n", s.name);
            sheet_csv(&s, out);
        }
        first = false;
        sheet_release(&s);
    }
}

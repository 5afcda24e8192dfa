/* SPDX-License-Identifier: MIT
 *
 * `specter analyze --table` and `--list-tables`, over the sheets of analyze_sheets.h
 * (analyze_report.h).
 */
#include "report/analyze_report.h"

#include "base/opt.h"
#include "report/analyze_sheets.h"
#include "report/table.h"

#include <limits.h>
#include <string.h>

#define LIST_COLUMNS 52 /* of what a table tells */

const struct analyze_sheet analyze_sheets[ANALYZE_SHEET_COUNT] = {
#define X(name, rows) {#name, rows, sheet_of_##name},
    SHEETS(X)
#undef X
};

void analyze_list_sheets(const struct sheet *sheets, size_t n, FILE *out)
{
    struct table t;
    table_init(&t);
    table_column(&t, "table", TABLE_LEFT);
    table_column(&t, "rows", TABLE_RIGHT);
    table_column(&t, "what it tells", TABLE_LEFT);
    for (size_t i = 0; i < n; i++) {
        table_cell(&t, "%s", sheets[i].name);
        table_cell(&t, "%zu", sheet_rows(&sheets[i]));
        table_text(&t, sheets[i].title, LIST_COLUMNS);
    }
    table_print(&t, out);
    table_release(&t);
}

void analyze_list_tables(const struct analysis *a, FILE *out)
{
    struct sheet sheets[ANALYZE_SHEET_COUNT];
    for (size_t i = 0; i < ANALYZE_SHEET_COUNT; i++)
        analyze_sheets[i].make(&sheets[i], a);
    analyze_list_sheets(sheets, ANALYZE_SHEET_COUNT, out);
    for (size_t i = 0; i < ANALYZE_SHEET_COUNT; i++)
        sheet_release(&sheets[i]);
}

int analyze_check_names(const char *names, const char *const *known, size_t n, const char *listed,
                        struct err *e)
{
    char name[64];
    for (const char *p = names; *p != '\0';) {
        size_t len = strcspn(p, ",");
        const char *best = known[0];
        snprintf(name, sizeof name, "%.*s", (int)(len < sizeof name ? len : sizeof name), p);
        for (size_t i = 1; i < n; i++) {
            if (opt_distance(name, known[i]) < opt_distance(name, best))
                best = known[i];
        }
        if (strcmp(name, best) != 0)
            return err_set(e, ERR_USAGE, "there is no table '%s'; did you mean '%s'? (%s them)",
                           name, best, listed);
        p += len;
        p += *p == ',';
    }
    return 0;
}

int analyze_check_tables(const char *names, struct err *e)
{
    static const char *const known[] = {
#define X(name, rows) #name,
        SHEETS(X)
#undef X
    };
    return analyze_check_names(names, known, ANALYZE_SHEET_COUNT, "'specter help analyze' lists",
                               e);
}

void analyze_table(const struct sheet *s, enum sheet_form form, enum table_among among, FILE *out)
{
    if (form == SHEET_CSV && among != TABLE_ALONE)
        fprintf(out, "%s# %s\n", among == TABLE_NEXT ? "\n" : "", s->name);
    sheet_write(s, form, out);
}

void analyze_tables(const struct analysis *a, const char *names, enum sheet_form form, FILE *out)
{
    const bool all = names[0] == '\0', several = all || strchr(names, ',') != NULL;
    enum table_among among = several ? TABLE_FIRST : TABLE_ALONE;
    for (size_t i = 0; i < ANALYZE_SHEET_COUNT; i++) {
        struct sheet s;
        if (!all && !opt_list_names(names, analyze_sheets[i].name))
            continue;
        analyze_sheets[i].make(&s, a);
        if (all && sheet_rows(&s) == 0) {
            sheet_release(&s);
            continue;
        }
        analyze_table(&s, form, among, out);
        among = several ? TABLE_NEXT : TABLE_ALONE;
        sheet_release(&s);
    }
}

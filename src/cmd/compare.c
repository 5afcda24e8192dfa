/* SPDX-License-Identifier: MIT
 *
 * specter compare: what differs between a base and tests, and whether it is more than noise.
 */
#include "base/buf.h"
#include "cmd/cmd.h"
#include "cmd/compare_sides.h"
#include "compare/compare.h"
#include "report/compare_report.h"
#include "report/sheet.h"
#include "report/workbooks.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct compare_opts {
    const char *names, *tables, *json, *html, *form, *fail_on, *color, *output;
    bool all_runs, pairs;
    double threshold;        /* per cent */
    enum sheet_form format;  /* `form`, read */
    int64_t gpus;            /* of a replay's scale; 0: not said */
    enum color_when colored; /* `color`, read: screen_init() */
};

#define AT(field) offsetof(struct compare_opts, field)

static const struct opt rows[] = {
    {"name", 0, OPT_STR, AT(names), "LABEL,...", "what the sides are called, base first"},
    {"all-runs", 0, OPT_FLAG, AT(all_runs), NULL,
     "each side is a folder, and every folder in it a run"},
    {"at", 0, OPT_I64, AT(gpus), "GPUS",
     "of a replay, the scale of so many GPUs (default: as recorded)"},
    {"pairs", 0, OPT_FLAG, AT(pairs), NULL, "compare the tests with each other, too"},
    {"table", 0, OPT_STR, AT(tables), "NAME[,NAME]",
#define X(id, name, title) " " name
     "print these tables in full:" COMPARE_TABLES(X)},
#undef X
    {"format", 0, OPT_STR, AT(form), "table|csv|md", "the form of tables (default: table)"},
    {"threshold", 0, OPT_DOUBLE, AT(threshold), "PCT",
     "the least change that counts, in per cent (default: 1)"},
    {"json", 0, OPT_STR, AT(json), "FILE|-",
     "write everything as JSON; -: to stdout, in place of the text"},
    {"html", 0, OPT_STR, AT(html), "FILE", "write one page with causes, both timelines and tables"},
    {"output", 'o', OPT_STR, AT(output), "DIR",
     "write workbooks there: final_analysis_report.xlsx and others"},
    {"fail-on", 0, OPT_STR, AT(fail_on), "EXPR",
     "exit with status 1 when EXPR holds, such as 'step_ms>+5%'"},
    {"color", 0, OPT_STR, AT(color), "WHEN", "auto, always or never (default: auto)"},
    OPT_END,
};

/* ---- output ---- */

static int check_tables(const char *names, struct err *e)
{
    if (names != NULL && *names == '\0')
        return err_set(e, ERR_USAGE, "--table: no table is named");
    for (const char *p = names; p != NULL && *p != '\0';) {
        size_t len = strcspn(p, ",");
        bool known = false;
        for (int t = 0; t < COMPARE_TABLE_COUNT; t++) {
            const char *name = compare_table_name((enum compare_table)t);
            known = known || (strlen(name) == len && strncmp(name, p, len) == 0);
        }
#define X(id, name, title) " " name
        if (!known)
            return err_set(e, ERR_USAGE, "there is no table '%.*s'; there are" COMPARE_TABLES(X),
                           (int)len, p);
#undef X
        p += len;
        p += *p == ',';
    }
    return 0;
}

static void print_tables(const struct compare_report *r, const struct compare_opts *o, bool several)
{
    const bool csv = o->format == SHEET_CSV;
    bool first = true;
    if (several)
        printf("%s# %s -> %s\n", o->format == SHEET_TABLE ? "\n" : "", r->base, r->test);
    for (int t = 0; t < COMPARE_TABLE_COUNT; t++) {
        struct sheet s;
        if (o->tables != NULL &&
            !opt_list_names(o->tables, compare_table_name((enum compare_table)t)))
            continue;
        compare_sheet(&s, r, (enum compare_table)t);
        if (csv && (o->tables == NULL || strchr(o->tables, ',') != NULL))
            printf("%s# %s\n", first ? "" : "\n", s.name);
        first = false;
        sheet_write(&s, o->format, stdout);
        sheet_release(&s);
    }
}

/* Their simulations take most of the time: not for tables that do not hold them. */
static bool wants_causes(const struct compare_opts *o)
{
    return o->json != NULL || o->html != NULL || o->output != NULL || o->tables == NULL ||
           opt_list_names(o->tables, compare_table_name(COMPARE_CAUSES));
}

/* Two sides beside each other. */
struct compared_pair {
    const struct compared *base, *test;
    struct comparison c;
    struct causes causes;
    struct compare_report report;
};

/* Each test beside the base, and with --pairs behind them the tests beside each other. */
struct comparisons {
    struct compared_pair *list;            /* owned */
    const struct compare_report **reports; /* theirs; owned */
    size_t n;
};

static void add_pair(struct comparisons *p, const struct compared *base,
                     const struct compared *test, const struct compare_opts *o)
{
    struct compared_pair *pair = &p->list[p->n];
    *pair = (struct compared_pair){.base = base, .test = test};
    compare_init(&pair->c, compared_runs(base), compared_runs(test), o->threshold / 100);
    if (wants_causes(o))
        causes_find(&pair->causes, &pair->c, compared_runs(base), compared_runs(test));
    pair->report = (struct compare_report){&pair->c,    &pair->causes,       base->label,
                                           test->label, compared_runs(base), compared_runs(test)};
    p->reports[p->n++] = &pair->report;
}

static void comparisons_init(struct comparisons *p, const struct compared *sides, size_t n,
                             const struct compare_opts *o)
{
    const size_t most = o->pairs ? n * (n - 1) / 2 : n - 1;
    p->list = array_new(most, sizeof *p->list);
    p->reports = array_new(most, sizeof *p->reports);
    for (size_t i = 0; p->n < most; i++) {
        for (size_t k = i + 1; k < n; k++)
            add_pair(p, &sides[i], &sides[k], o);
    }
}

static void comparisons_release(struct comparisons *p)
{
    for (size_t i = 0; i < p->n; i++) {
        causes_release(&p->list[i].causes);
        compare_release(&p->list[i].c);
    }
    free(p->list);
    free(p->reports);
}

static void rank(struct ranking *r, const struct compared *sides, size_t n, double threshold)
{
    struct compare_runs *list = array_new(n, sizeof *list);
    for (size_t i = 0; i < n; i++)
        list[i] = compared_runs(&sides[i]);
    ranking_init(r, list, n, threshold);
    free(list);
}

/* Of several tests the first screen is their ranking. */
static void print(const struct comparisons *pairs, const struct ranking *ranking,
                  const struct compare_opts *o)
{
    struct screen screen;
    if (o->tables != NULL || o->form != NULL) {
        for (size_t i = 0; i < pairs->n; i++) {
            if (i > 0)
                putchar('\n');
            print_tables(pairs->reports[i], o, pairs->n > 1);
        }
        return;
    }
    screen_init(&screen, stdout, o->colored);
    if (ranking->n > 2)
        compare_ranking(pairs->reports, ranking, &screen);
    else
        compare_summary(pairs->reports[0], &screen);
    screen_release(&screen);
}

static int write_json(const struct comparisons *pairs, const struct ranking *ranking,
                      const char *where, struct err *e)
{
    cJSON *doc = cJSON_CreateObject(), *list;
    cJSON_AddStringToObject(doc, "schema", "specter.compare/1");
    cJSON_AddItemToObject(doc, "ranking", compare_ranking_json(pairs->reports, ranking));
    list = cJSON_AddArrayToObject(doc, "comparisons");
    for (size_t i = 0; i < pairs->n; i++)
        cJSON_AddItemToArray(list, compare_json(pairs->reports[i]));
    return cmd_write_json(doc, where, e);
}

/* Where the workbooks of a pair go: of several each has a folder of its own. */
static int write_workbooks(const struct compared_pair *pair, const char *dir, bool several,
                           struct err *e)
{
    struct buf path = BUF_INIT, folder = BUF_INIT;
    int rc = 0;
    buf_puts(&path, dir);
    if (several) {
        const size_t at = path.len + 1;
        buf_printf(&path, "/comparison_%s_vs_%s", pair->base->label, pair->test->label);
        for (char *p = path.data + at; *p != '\0'; p++)
            *p = *p == '/' ? '_' : *p;
    }
    buf_printf(&folder, "%s/" WORKBOOKS_FOLDER, path.data);
    if (cmd_make_folders(folder.data) < 0)
        rc = err_set(e, ERR_INPUT, "cannot make directory '%s': %s", folder.data, strerror(errno));
    else
        rc = compare_workbooks(path.data, &pair->report, compared_runs(pair->base),
                               compared_runs(pair->test), e);
    buf_release(&path);
    buf_release(&folder);
    return rc;
}

static int report(const struct compared *sides, size_t n, const struct compare_opts *o,
                  struct err *e)
{
    struct comparisons pairs = {0};
    struct ranking ranking;
    struct err held = {0};
    int status = 0;
    comparisons_init(&pairs, sides, n, o);
    rank(&ranking, sides, n, o->threshold / 100);
    if (o->json == NULL || strcmp(o->json, "-") != 0)
        print(&pairs, &ranking, o);
    if (o->json != NULL)
        status = write_json(&pairs, &ranking, o->json, e);
    if (o->html != NULL && status == 0)
        status = compare_html(pairs.reports, pairs.n, &ranking, o->html, e);
    if (o->html != NULL && status == 0)
        cmd_wrote(o->html);
    for (size_t i = 0; i < pairs.n && o->output != NULL && status == 0; i++)
        status = write_workbooks(&pairs.list[i], o->output, pairs.n > 1, e);
    for (size_t i = 0; i < pairs.n && o->fail_on != NULL && held.code != ERR_NO; i++) {
        struct compared_pair *pair = &pairs.list[i];
        const struct compare_sides of = {&pair->c, compared_runs(pair->base),
                                         compared_runs(pair->test)};
        compare_apply_conditions(o->fail_on, &of, &held);
    }
    if (status == 0 && held.code != ERR_NONE) {
        *e = held;
        status = -1;
    }
    ranking_release(&ranking);
    comparisons_release(&pairs);
    return status;
}

static int compare(const struct compare_opts *o, struct compared *sides, size_t n,
                   struct arena *arena, struct err *e)
{
    bool partial = false;
    int status;
    if (compared_label(sides, n, o->names, arena, e) < 0)
        return -1;
    status = compared_load(sides, n, o->all_runs, o->gpus, arena, e);
    if (status == 0)
        status = report(sides, n, o, e);
    for (size_t i = 0; i < n; i++)
        partial = partial || sides[i].partial;
    compared_release(sides, n);
    return status == 0 && partial ? ERR_PARTIAL : status;
}

static int check_opts(struct compare_opts *o, int n, struct err *e)
{
    if (n < 2)
        return err_set(e, ERR_USAGE, "a BASE and a TEST are needed (see 'specter help compare')");
    if (!(o->threshold >= 0 && o->threshold < 100))
        return err_set(e, ERR_USAGE, "--threshold %g: from 0 to 100", o->threshold);
    if (o->output != NULL && *o->output == '\0')
        return err_set(e, ERR_USAGE, "--output: the name of the directory is empty");
    if (o->gpus < 0)
        return err_set(e, ERR_USAGE, "--at %lld: a number of GPUs", (long long)o->gpus);
    if (sheet_form_parse(o->form, &o->format, e) < 0 || check_tables(o->tables, e) < 0 ||
        (o->fail_on != NULL && compare_check_conditions(o->fail_on, e) < 0))
        return -1;
    return color_parse(o->color, &o->colored, e);
}

static int run_compare(const struct command *self, int argc, char **argv, struct err *e)
{
    struct compare_opts opts = {.threshold = 100 * COMPARE_THRESHOLD};
    struct compared *sides;
    struct arena arena;
    int n, status = cmd_parse(self, &opts, argc, argv, false, &n, e);
    if (status != 0)
        return status;
    if (check_opts(&opts, n, e) < 0)
        return (int)e->code;
    arena_init(&arena);
    sides = array_new((size_t)n, sizeof *sides);
    for (int i = 0; i < n; i++)
        sides[i].paths = argv[i];
    status = compare(&opts, sides, (size_t)n, &arena, e);
    free(sides);
    arena_release(&arena);
    return status < 0 ? (int)e->code : status;
}

const struct command cmd_compare = {
    .name = "compare",
    .synopsis = "compare BASE TEST..." SYNOPSIS_ALL,
    .summary = "say what differs between runs, and whether it is noise",
    .details =
        "Compares each TEST with BASE: the step and its parts, each rank, each kind of collective\n"
        "by size, each shape of GEMM, kernels, copies and causes of idle time; all times are a\n"
        "step's, so that recordings may differ in length. BASE and TEST are what 'specter analyze' "
        "reads; several repeats of one side are\n"
        "paths with commas between them, or the folders in it (--all-runs). A side may be what\n"
        "'specter replay --json' wrote: the step and its parts as predicted, beside what was "
        "measured.\n"
        "\n"
        "Causes: the base's job is simulated with the test's times of one kind of work at a time,\n"
        "waits and overlap recomputed; what other work overlaps changes the step by 0.\n"
        "\n"
        "A row is better or worse where the test's times differ by --threshold or more, and by "
        "more\n"
        "than their noise: Welch's t-test on logarithms, at 95 % over all rows of a table, with\n"
        "successive steps counted by how much they depend on each other. Of one run a side the\n"
        "samples are its steps and calls; of several, the runs. similar: the change is smaller "
        "than\n"
        "the threshold; unknown: the noise is not known, or larger than the change. What one side\n"
        "alone has is added or removed.\n"
        "\n"
        "-o writes workbooks (docs/compare.md): a dashboard, all tables, and hidden the figures "
        "of\n"
        "each side; of several tests into DIR/comparison_BASE_vs_TEST.\n"
        "\n"
        "EXPR compares a name with a number (> >= < <=; 0.3 or 30%); of several with commas "
        "between\n"
        "them one is enough, in any of the comparisons. Names are those of 'specter analyze "
        "--fail-on'\n"
        "and of 'specter metrics', values the test's. A signed percentage is a change against "
        "BASE:\n"
        "step_ms>+5% holds where the step is longer by more than 5 % and more than its noise. "
        "Others:\n"
#define X(name, kind, lacks, help) "  " #name ": " help "\n"
    COMPARE_CONDITIONS(X)
#undef X
        "\n"
        "Exit status: 0 done, 1 --fail-on holds, 2 bad usage, 3 no usable input, 4 part of the "
        "input was lost.",
    .rows = rows,
    .paged = true,
    .run = run_compare,
};

/* SPDX-License-Identifier: MIT
 *
 * Sheets of communication by kind: collectives, sends with their receives, and how NCCL ran them.
 */
#include "report/analyze_sheets.h"

#include "base/buf.h"
#include "report/op_text.h"

#include <math.h>

#define GROUP_COLUMNS 10 /* of a communicator's size and name */
#define WAY_COLUMNS 26   /* of how NCCL ran it */

static void kind_cells(struct sheet *s, const struct comm_row *row)
{
    sheet_text(s, row->op < SPECTER_COMM_OP_COUNT ? specter_comm_op_name(row->op) : "");
    /* For people: a star where the instances were launched in groups. */
    char *text =
        arena_printf(&s->arena, "%s%s", comm_op_text(row->op), row->grouped > 0 ? "*" : "");
    sheet_text(s, text);
    sheet_text(s, comm_dtype_text(row->dtype));
    sheet_number(s, row->comm_size > 0 ? row->comm_size : NAN);
    sheet_text(s, row->name);
    sheet_text(s, comm_group_text(row->comm_size, row->name, &s->arena));
    sheet_number(s, row->bytes_known ? (double)row->bytes : NAN);
}

#define KIND_COLUMNS                                                                          \
    {"op", NULL, SHEET_TEXT, 0}, {NULL, "op", SHEET_TEXT, 0}, {"dtype", NULL, SHEET_TEXT, 0}, \
        {"comm_size", NULL, SHEET_COUNT, 0}, {"group", NULL, SHEET_TEXT, 0},                  \
        {NULL, "ranks", SHEET_TEXT, GROUP_COLUMNS},                                           \
    {                                                                                         \
        "bytes", "size", SHEET_BYTES, 0                                                       \
    }

static void way_cells(struct sheet *s, const struct comm_row *row)
{
    bool profiled = row->profiled > 0;
    sheet_text(s, profiled ? row->algo : "");
    sheet_text(s, profiled ? row->proto : "");
    sheet_number(s, row->channels > 0 ? row->channels : NAN);
    sheet_number(s, profiled ? (double)row->alike : NAN);
    sheet_number(s, profiled ? (double)row->profiled : NAN);
}

static void comm_cells(struct sheet *s, const struct comm_row *row)
{
    kind_cells(s, row);
    sheet_number(s, (double)row->count);
    sheet_number(s, row->min_ns);
    sheet_number(s, row->median_ns);
    sheet_number(s, row->mean_ns);
    sheet_number(s, row->max_ns);
    sheet_number(s, row->wait_ns);
    sheet_number(s, row->algbw_GBps);
    sheet_number(s, row->busbw_GBps);
    sheet_number(s, row->expected_busbw_GBps);
    sheet_number(s, row->of_expected);
    sheet_number(s, row->expected_ns);
    sheet_number(s, (double)row->compared);
    sheet_number(s, row->p95_ns);
    sheet_number(s, row->skew_ns);
    sheet_number(s, row->skew_max_ns);
    sheet_number(s, row->share);
    sheet_number(s, row->nodes > 0 ? row->nodes : NAN);
    sheet_number(s, (double)row->timed);
    sheet_number(s, (double)row->grouped);
    sheet_number(s, (double)row->records);
    way_cells(s, row);
}

/* Notes the limits of the rows. */
static void note_limits(struct sheet *s, const struct comm_study *study)
{
    if (study->incomplete > 0)
        sheet_note(s, "%llu of %zu operations lack ranks: their transfer may hold waiting",
                   (unsigned long long)study->incomplete, study->count);
    if (study->inconsistent > 0)
        sheet_note(s, "in %llu of %zu operations the ranks disagree on kind, size or type",
                   (unsigned long long)study->inconsistent, study->count);
    if (study->unnumbered > 0)
        sheet_note(s, "%llu operations could not be matched across ranks: counted one by one",
                   (unsigned long long)study->unnumbered);
}

/* Returns whether of no row it is known on how many nodes it ran. */
static bool nodes_unknown(const struct comm_rows *rows)
{
    size_t several = 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->list[i].nodes > 0)
            return false;
        several += rows->list[i].comm_size > 1;
    }
    return several > 0;
}

/* Said once, as nothing is then expected of any row. */
static void note_machine(struct sheet *s, const struct machine *m, const struct comm_rows *rows)
{
    if (m->mixed)
        sheet_note(s, "no model to compare with: the ranks ran on different GPUs (--gpu)");
    else if (m->gpu == NULL || m->net == NULL)
        sheet_note(s, "no model to compare with: no GPU that specter knows (--gpu, --network)");
    else if (nodes_unknown(rows))
        sheet_note(s, "no model to compare with: the traces do not tell which ranks share a node");
}

static void comm_sheet(struct sheet *s, const char *name, const char *title,
                       const struct comm_rows *rows)
{
    static const struct sheet_column columns[] = {
        KIND_COLUMNS,
        {"count", "count", SHEET_COUNT, 0},
        {"min_us", NULL, SHEET_TIME, 0},
        {"median_us", "median", SHEET_TIME, 0},
        {"mean_us", NULL, SHEET_TIME, 0},
        {"max_us", NULL, SHEET_TIME, 0},
        {"wait_us", "wait", SHEET_TIME, 0},
        {"algbw_GBps", NULL, SHEET_RATE, 0},
        {"busbw_GBps", "busbw", SHEET_RATE, 0},
        {"expected_busbw_GBps", NULL, SHEET_RATE, 0},
        {"of_expected", "model", SHEET_SHARE, 0},
        {"expected_us", NULL, SHEET_TIME, 0},
        {"compared", NULL, SHEET_COUNT, 0},
        {"p95_us", NULL, SHEET_TIME, 0},
        {"skew_us", NULL, SHEET_TIME, 0},
        {"skew_max_us", NULL, SHEET_TIME, 0},
        {"share", NULL, SHEET_SHARE, 0},
        {"nodes", NULL, SHEET_COUNT, 0},
        {"timed", NULL, SHEET_COUNT, 0},
        {"grouped", NULL, SHEET_COUNT, 0},
        {"records", NULL, SHEET_COUNT, 0},
        {"algo", NULL, SHEET_TEXT, 0},
        {"proto", NULL, SHEET_TEXT, 0},
        {"channels", NULL, SHEET_COUNT, 0},
        {"alike", NULL, SHEET_COUNT, 0},
        {"told", NULL, SHEET_COUNT, 0},
    };
    bool grouped = false;
    size_t beyond = 0;
    sheet_init(s, name, title, SHEET_COLUMNS(columns));
    for (size_t i = 0; i < rows->count; i++) {
        comm_cells(s, &rows->list[i]);
        grouped = grouped || rows->list[i].grouped > 0;
        beyond += rows->list[i].beyond_links;
    }
    if (beyond > 0)
        sheet_note(
            s,
            "%zu row%s without a bandwidth: more than the GPU's links can move in the recorded "
            "time: part of the data came before, or the group is smaller than taken here",
            beyond, beyond > 1 ? "s are" : " is");
    if (grouped)
        sheet_note(s, "* in groups: the time is the group's, the bandwidth that of all it moved");
}

#define COMM_TITLE ": median transfer, mean wait, busbw GB/s, measured / predicted"

void sheet_of_collectives(struct sheet *s, const struct analysis *a)
{
    comm_sheet(s, "collectives", "Collectives" COMM_TITLE, &a->collectives);
    s->off_page = analysis_has_names(a);
    note_machine(s, &a->machine, &a->collectives);
    note_limits(s, &a->comm);
}

/* Empty where no two communicators have different names. */
void sheet_of_collectives_by_group(struct sheet *s, const struct analysis *a)
{
    static const struct comm_rows none;
    comm_sheet(s, "collectives_by_group", "Collectives" COMM_TITLE,
               analysis_has_names(a) ? &a->collectives_named : &none);
    note_machine(s, &a->machine, &a->collectives_named);
    note_limits(s, &a->comm);
}

void sheet_of_p2p(struct sheet *s, const struct analysis *a)
{
    comm_sheet(s, "p2p", "Sends, receives" COMM_TITLE, &a->p2p);
    s->off_page = true; /* unless something is known of one */
    for (size_t i = 0; i < a->p2p.count; i++)
        s->off_page = s->off_page && a->p2p.list[i].op >= SPECTER_COMM_OP_COUNT;
    if (a->collectives.count == 0)
        note_limits(s, &a->comm);
}

void sheet_of_nccl_choices(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        KIND_COLUMNS,
        {NULL, "how", SHEET_TEXT, WAY_COLUMNS},
        {NULL, "instances", SHEET_TEXT, 0},
        {"algo", NULL, SHEET_TEXT, 0},
        {"proto", NULL, SHEET_TEXT, 0},
        {"channels", NULL, SHEET_COUNT, 0},
        {"alike", NULL, SHEET_COUNT, 0},
        {"told", NULL, SHEET_COUNT, 0},
    };
    sheet_init(s, "nccl_choices", "How NCCL ran most of them: algorithm, protocol, channels",
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < a->collectives.count; i++) {
        const struct comm_row *row = &a->collectives.list[i];
        if (row->profiled == 0)
            continue;
        kind_cells(s, row);
        /* "RING LL128 x8"; of a message "x2". */
        struct buf text = BUF_INIT;
        const char *copy;
        buf_puts(&text, row->algo);
        if (row->proto[0] != '\0')
            buf_printf(&text, "%s%s", text.len > 0 ? " " : "", row->proto);
        if (row->channels > 0)
            buf_printf(&text, "%sx%u", text.len > 0 ? " " : "", row->channels);
        copy = arena_strndup(&s->arena, text.data != NULL ? text.data : "", text.len);
        buf_release(&text);
        sheet_text(s, copy);
        sheet_text(s, arena_printf(&s->arena, "%llu of %llu", (unsigned long long)row->alike,
                                   (unsigned long long)row->profiled));
        way_cells(s, row);
    }
}

/* Rows that the model can be compared with; empty where the machine is not known. */
void sheet_of_expected(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        KIND_COLUMNS,
        {"nodes", NULL, SHEET_COUNT, 0},
        {"compared", NULL, SHEET_COUNT, 0},
        {"expected_us", NULL, SHEET_TIME, 0},
        {"busbw_GBps", "busbw", SHEET_RATE, 0},
        {"expected_busbw_GBps", "model", SHEET_RATE, 0},
        {"of_expected", "reached", SHEET_SHARE, 0},
        {"share", "share", SHEET_SHARE, 0},
        {"low50_us", NULL, SHEET_TIME, 0},
        {"high50_us", NULL, SHEET_TIME, 0},
        {"low80_us", NULL, SHEET_TIME, 0},
        {"high80_us", NULL, SHEET_TIME, 0},
    };
    const struct comm_rows *rows = analysis_has_names(a) ? &a->collectives_named : &a->collectives;
    const struct comm_row *widest = NULL;
    sheet_init(s, "expected", "Collectives and what the model expects, busbw in GB/s",
               SHEET_COLUMNS(columns));
    for (size_t i = 0; i < rows->count; i++) {
        const struct comm_row *row = &rows->list[i];
        if (row->compared == 0)
            continue;
        kind_cells(s, row);
        sheet_number(s, row->nodes > 0 ? row->nodes : NAN);
        sheet_number(s, (double)row->compared);
        sheet_number(s, row->expected_ns);
        sheet_number(s, row->of_expected * row->expected_busbw_GBps);
        sheet_number(s, row->expected_busbw_GBps);
        sheet_number(s, row->of_expected);
        sheet_number(s, row->share);
        sheet_number(s, row->expected_ns / row->factor50);
        sheet_number(s, row->expected_ns * row->factor50);
        sheet_number(s, row->expected_ns / row->factor80);
        sheet_number(s, row->expected_ns * row->factor80);
        if (widest == NULL || row->factor80 > widest->factor80)
            widest = row;
    }
    if (sheet_rows(s) > 0) {
        /* The machine of the model's figures. */
        const struct machine *m = &a->machine;
        sheet_note(s, "model: %s on %s%s, all ranks arrive at once and nothing overlaps",
                   m->gpu->name, m->net->name,
                   m->by == NETWORK_USUAL ? " (where it usually sits; --network)" : "");
        if (isfinite(widest->factor80))
            sheet_note(
                s, "elsewhere half of measured times are within a factor of %.2f, 80 %% of %.2f",
                widest->factor50, widest->factor80);
        else
            sheet_note(s, "how far it may be off is not known: too little was measured");
    }
}

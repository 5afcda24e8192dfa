/* SPDX-License-Identifier: MIT
 *
 * `specter watch --json` (watch_report.h; docs/watch.md has the keys).
 */
#include "report/findings.h"
#include "report/json_add.h"
#include "report/op_text.h"
#include "report/watch_report.h"

#include <cjson/cJSON.h>
#include <math.h>

static void add_count(cJSON *o, const char *key, int64_t n)
{
    json_add_number(o, key, n >= 0 ? (double)n : NAN);
}

static void add_ns(cJSON *o, const char *key, int64_t ns)
{
    json_add_us(o, key, ns != UNKNOWN_NS ? (double)ns : NAN);
}

static void add_steps(cJSON *o, const struct watch_steps *s)
{
    json_add_us(o, "step_us", s->count > 0 ? s->median_ns : NAN);
    add_count(o, "steps", (int64_t)s->count);
    json_add_number(o, "change", s->change);
    if (isfinite(s->change))
        cJSON_AddBoolToObject(o, "steady", s->steady);
    else
        cJSON_AddNullToObject(o, "steady");
}

static void add_last(cJSON *o, const struct watch *w, const struct op *op)
{
    char title[OP_TITLE_MAX];
    bool is_comm = op != NULL && op_is_comm(op);
    const struct comm *comm = is_comm && op->coll.comm >= 0 ? &w->run.comms[op->coll.comm] : NULL;
    bool sized = is_comm && !(op->flags & OP_BYTES_UNKNOWN);
    json_add_text(o, "op", op != NULL ? op_title(op, title) : NULL);
    json_add_number(o, "bytes", sized ? (double)op->bytes : NAN);
    json_add_text(o, "comm", comm != NULL ? comm->id : NULL);
    json_add_text(o, "comm_name", comm != NULL ? comm->name : NULL);
    add_count(o, "seq", !is_comm ? -1 : op->class == OP_P2P ? op->coll.p2p_seq : op->coll.seq);
}

static void add_rank(cJSON *o, const struct watch *w, const struct watch_rank *r)
{
    cJSON_AddNumberToObject(o, "rank", r->rank->rank);
    json_add_text(o, "host", r->rank->host);
    json_add_text(o, "state", watch_state_name(r->state));
    add_count(o, "step", r->step);
    add_steps(o, &r->steps);
    add_last(o, w, r->last);
    add_ns(o, "age_us", r->age_ns);
    json_add_us(o, "skew_us", r->skew_ns);
}

static void add_row(cJSON *o, const struct comm_row *row)
{
    json_add_text(o, "op", comm_op_text(row->op));
    json_add_text(o, "dtype", comm_dtype_text(row->dtype));
    json_add_number(o, "bytes", row->bytes_known ? (double)row->bytes : NAN);
    json_add_number(o, "comm_size", row->comm_size > 0 ? row->comm_size : NAN);
    json_add_text(o, "comm_name", row->name);
    add_count(o, "count", (int64_t)row->count);
    json_add_us(o, "median_us", row->median_ns);
    json_add_number(o, "busbw_GBps", row->busbw_GBps);
    json_add_number(o, "expected_busbw_GBps", row->expected_busbw_GBps);
    json_add_number(o, "of_expected", row->of_expected);
    json_add_us(o, "skew_us", row->skew_ns);
}

cJSON *watch_json(const struct watch *w, const struct trace_folder *f)
{
    cJSON *doc = cJSON_CreateObject(), *list, *o;
    cJSON_AddStringToObject(doc, "schema", "specter.watch/1");
    o = cJSON_AddObjectToObject(doc, "run");
    json_add_text(o, "id", w->run.id);
    json_add_text(o, "source", f->path);
    cJSON_AddNumberToObject(o, "ranks", (double)w->nranks);
    cJSON_AddNumberToObject(o, "world_size", w->run.world_size);
    cJSON_AddBoolToObject(o, "ended", w->ended);
    cJSON_AddBoolToObject(o, "clock_aligned", w->run.clock_aligned);
    add_ns(o, "since_us", w->since_ns);
    add_ns(o, "still_us", w->still_ns);
    o = cJSON_AddObjectToObject(doc, "step_time");
    add_count(o, "step", w->step);
    add_count(o, "rank", w->slowest != NULL ? w->slowest->rank->rank : -1);
    add_steps(o, w->slowest != NULL ? &w->slowest->steps : &(struct watch_steps){0, NAN, NAN, 0});
    list = cJSON_AddArrayToObject(doc, "ranks");
    for (size_t r = 0; r < w->nranks; r++)
        add_rank(json_add_object(list), w, &w->ranks[r]);
    list = cJSON_AddArrayToObject(doc, "collectives");
    for (size_t i = 0; i < w->rows.count; i++)
        add_row(json_add_object(list), &w->rows.list[i]);
    list = cJSON_AddArrayToObject(doc, "hangs");
    for (size_t i = 0; i < w->hangs.count; i++)
        hang_json(json_add_object(list), &w->hangs.list[i], &w->run);
    return doc;
}

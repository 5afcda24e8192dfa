/* SPDX-License-Identifier: MIT
 *
 * Reads a PyTorch execution trace: of its nodes only the calls of process groups,
 * operators of product.h (GEMMs, convolutions, attention) and the list of process groups are kept.
 * Until 1.0.1 a node is flat; later its inputs are an object and what describes it is a list of
 * attributes. Both are read by their keys.
 */
#include "trace/et.h"

#include "base/buf.h"
#include "trace/comm_order.h"
#include "trace/reader.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A node as it stands in the file. */
struct et_node {
    struct json_text name, values, shapes, types;
    int64_t record_id, tid;
    struct event_args args;
};

/* ---- attributes ---- */

/* X(field, kind, key): what record_param_comms says since 1.1.0, as Kineto's args. */
#define NODE_ATTRS(X)                       \
    X(collective, STR, "collective_name")   \
    X(dtype, STR, "dtype")                  \
    X(in_count, NUM, "in_msg_nelems")       \
    X(out_count, NUM, "out_msg_nelems")     \
    X(group, STR, "pg_name")                \
    X(group_text, STR, "pg_desc")           \
    X(group_size, NUM, "pg_size")           \
    X(rank_start, NUM, "global_rank_start") \
    X(rank_stride, NUM, "global_rank_stride")

static struct json_text raw_value(struct json *j)
{
    struct json_text raw = {NULL, 0, false};
    json_peek(j);
    raw.p = j->p;
    json_skip(j);
    raw.len = (uint32_t)(j->p - raw.p);
    return raw;
}

static int64_t raw_number(struct json_text raw)
{
    struct json j;
    char c;
    json_init(&j, raw.p, raw.len);
    c = json_peek(&j);
    return c == '0' || c == '-' || c == '"' ? event_number(&j) : ARG_NONE;
}

static struct json_text raw_string(struct json_text raw)
{
    struct json j;
    json_init(&j, raw.p, raw.len);
    return json_peek(&j) == '"' ? json_string(&j) : (struct json_text){NULL, 0, false};
}

static void take_attr(struct et_node *node, struct json_text name, struct json_text raw)
{
    if (json_text_is(name, "rf_id"))
        node->record_id = raw_number(raw);
    else if (json_text_is(name, "tid"))
        node->tid = raw_number(raw);
#define TAKE_NUM(field) node->args.field = raw_number(raw)
#define TAKE_STR(field) node->args.field = raw_string(raw)
#define X(field, kind, key) else if (json_text_is(name, key)) TAKE_##kind(field);
    NODE_ATTRS(X)
#undef X
}

static void take_attrs(struct et_node *node, struct json *j)
{
    struct json_text key;
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j)) {
        struct json_text name = {NULL, 0, false}, raw = {NULL, 0, false};
        if (!json_enter(j, '{'))
            continue;
        while (json_next_key(j, &key)) {
            if (json_text_is(key, "name") && json_peek(j) == '"')
                name = json_string(j);
            else if (json_text_is(key, "value"))
                raw = raw_value(j);
            else
                json_skip(j);
        }
        if (name.p != NULL && raw.p != NULL)
            take_attr(node, name, raw);
    }
}

/* ---- inputs ---- */

/* The inputs of record_param_comms: 1.0.1 has the tensors, numbers, the rank, the operation, two
 * lists; 1.0.2 names the group in front, 1.0.3 as a pair with its description, and both end with
 * the first rank, the stride and the size of the group. */
struct comm_inputs {
    struct json_text strings[2]; /* the last two */
    int nstrings;
    int64_t number, before; /* the last number; the last one before the name; -1 */
    int64_t behind[3];      /* the first ones after it */
    int nbehind;
};

static bool is_pair(const struct json *j)
{
    struct json ahead = *j;
    return json_peek(&ahead) == '[' && json_enter(&ahead, '[') && json_next_item(&ahead) &&
           json_peek(&ahead) == '"';
}

/* The pair of name and description. */
static void take_pair(struct et_node *node, struct json *j)
{
    struct json_text item;
    int n = 0;
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j)) {
        if (json_peek(j) != '"' || n > 1) {
            json_skip(j);
            n = 2;
            continue;
        }
        item = json_string(j);
        if (n++ == 0)
            node->args.group = item;
        else
            node->args.group_text = item;
    }
}

static void take_input(struct et_node *node, struct comm_inputs *in, struct json *j)
{
    char c = json_peek(j);
    if (c == '"') {
        in->strings[0] = in->strings[1];
        in->strings[1] = json_string(j);
        in->nstrings++;
        in->nbehind = 0;
        in->before = in->number;
    } else if (c == '0' || c == '-') {
        int64_t value = json_i64(j, -1);
        in->number = value;
        if (in->nbehind < 3)
            in->behind[in->nbehind++] = value;
    } else if (c == '[' && is_pair(j)) {
        take_pair(node, j);
    } else {
        json_skip(j);
    }
}

/* Takes the rank (of a message: the other end), which only the inputs have, and all else where the
 * attributes do not give it. */
static void take_comm_inputs(struct et_node *node)
{
    bool known = node->args.collective.p != NULL;
    struct comm_inputs in = {.number = -1, .before = -1};
    struct event_args args = node->args;
    struct json j;
    json_init(&j, node->values.p, node->values.len);
    if (node->values.p == NULL || json_peek(&j) != '[' || !json_enter(&j, '['))
        return;
    while (json_next_item(&j))
        take_input(node, &in, &j);
    if (known)
        node->args = args;
    if (j.error != NULL || in.nstrings == 0)
        return;
    if (in.before >= 0)
        node->args.group_rank = in.before;
    if (known)
        return;
    node->args.collective = in.strings[1];
    if (in.nstrings > 1 && node->args.group.p == NULL)
        node->args.group = in.strings[0];
    if (in.nbehind == 3 && in.behind[2] > 0) {
        node->args.rank_start = in.behind[0];
        node->args.rank_stride = in.behind[1];
        node->args.group_size = in.behind[2];
    }
    node->args.dims = node->shapes;
    node->args.types = node->types;
}

/* ---- nodes ---- */

static void take_inputs(struct et_node *node, struct json *j)
{
    struct json_text key;
    if (json_peek(j) != '{') {
        node->values = raw_value(j);
        return;
    }
    json_enter(j, '{');
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "values"))
            node->values = raw_value(j);
        else if (json_text_is(key, "shapes"))
            node->shapes = raw_value(j);
        else if (json_text_is(key, "types"))
            node->types = raw_value(j);
        else
            json_skip(j);
    }
}

static void take_node(struct et_node *node, struct json *j)
{
    struct json_text key;
    memset(node, 0, sizeof *node);
    event_args_init(&node->args);
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "name") && json_peek(j) == '"')
            node->name = json_string(j);
        else if (json_text_is(key, "rf_id"))
            node->record_id = event_number(j);
        else if (json_text_is(key, "tid"))
            node->tid = event_number(j);
        else if (json_text_is(key, "inputs"))
            take_inputs(node, j);
        else if (json_text_is(key, "input_shapes"))
            node->shapes = raw_value(j);
        else if (json_text_is(key, "input_types"))
            node->types = raw_value(j);
        else if (json_text_is(key, "attrs") && json_peek(j) == '[')
            take_attrs(node, j);
        else
            json_skip(j);
    }
}

static void use_node(struct et *et, struct et_node *node)
{
    const char *name;
    if (node->name.p == NULL)
        return;
    if (json_text_is(node->name, "## process_group:init ##")) {
        /* The groups are a text in JSON, the first input. */
        struct buf plain = BUF_INIT;
        struct json values, groups;
        if (kineto_go_to_item(&values, node->values, 0) && json_peek(&values) == '"') {
            json_decode(json_string(&values), &plain);
            json_init(&groups, plain.data, plain.len);
            if (json_peek(&groups) == '[')
                kineto_take_groups(&et->k, &groups);
            buf_release(&plain);
        }
        return;
    }
    if (node->name.len > 64) /* no operator of product.h has so long a name */
        return;
    name = memo_find(&et->k.texts, et->run, node->name)->text;
    if (strcmp(name, "record_param_comms") == 0)
        take_comm_inputs(node);
    else if (product_kind_of(name) == PRODUCT_NONE)
        return;
    struct et_call *call;
    ARRAY_GROW(et->calls.list, et->calls.cap, et->calls.count + 1);
    call = &et->calls.list[et->calls.count];
    memset(call, 0, sizeof *call);
    call->name = name;
    call->record_id = node->record_id > 0 ? (uint64_t)node->record_id : 0;
    call->place = et->calls.count++;
    call->tid = node->tid;
    if (product_kind_of(name) != PRODUCT_NONE)
        call->product =
            product_of(name, &(struct product_inputs){node->shapes, node->types, {NULL, 0, false}});
    else
        call->meta = kineto_args_meta(&et->k, &node->args);
}

static int take_element(void *ctx, struct window *w, struct err *e)
{
    struct et *et = ctx;
    struct et_node node;
    struct json j;
    for (;;) {
        json_init(&j, w->text + w->at, w->have - w->at);
        take_node(&node, &j);
        if (j.error == NULL) {
            use_node(et, &node);
            w->at += json_offset(&j);
            return 0;
        }
        if (!json_is_cut(&j)) {
            if (et->bad++ == 0) {
                et->bad_offset = window_offset(w) + json_offset(&j);
                et->bad_reason = j.error;
            }
            return window_take(w, window_skip, et, e);
        }
        if (!window_more(w))
            return window_broken(w, window_offset(w) + json_offset(&j), j.error, e);
    }
}

/* ---- the file ---- */

static void take_schema(void *ctx, struct json *j)
{
    struct et *et = ctx;
    struct json_text text = {NULL, 0, false};
    if (json_peek(j) == '"')
        text = json_string(j);
    else
        json_skip(j);
    if (text.p == NULL)
        return;
    if (text.len >= sizeof et->schema)
        text.len = sizeof et->schema - 1;
    memcpy(et->schema, text.p, text.len);
    et->schema[text.len] = '\0';
    et->known_schema = strncmp(et->schema, "1.", 2) == 0;
}

static void take_pid(void *ctx, struct json *j)
{
    struct et *et = ctx;
    et->pid = event_number(j);
}

static int take_member(void *ctx, struct window *w, const char *key, struct err *e)
{
    window_value *take = strcmp(key, "schema") == 0 ? take_schema
                         : strcmp(key, "pid") == 0  ? take_pid
                                                    : window_skip;
    if (strcmp(key, "nodes") == 0 && window_next(w) == '[')
        return window_list(w, take_element, ctx, e);
    return window_take(w, take, ctx, e);
}

/* Damage is noted, and what stands before it is used, where that is anything. */
static int read_file(struct et *et, struct stream *s, struct err *e)
{
    struct window w;
    int rc;
    window_init(&w, s, et->label);
    rc = window_next(&w) == '{' ? window_object(&w, take_member, et, e)
                                : window_broken(&w, 0, "not an execution trace", e);
    window_release(&w);
    if (rc < 0 && et->calls.count == 0)
        return -1;
    if (rc < 0)
        run_note(et->run, true, "%s; what stands before it is used", e->msg);
    if (!et->known_schema)
        return err_set(e, ERR_INPUT, "%s: an execution trace of unknown schema '%s'", et->label,
                       et->schema);
    if (et->bad > 0)
        run_note(et->run, true, "%s: byte %llu: %s; %llu node%s of this file %s unusable",
                 et->label, (unsigned long long)et->bad_offset, et->bad_reason,
                 (unsigned long long)et->bad, et->bad > 1 ? "s" : "", et->bad > 1 ? "are" : "is");
    return 0;
}

static int et_read(struct run *run, struct stream *s, const char *label, struct err *e)
{
    struct et *et;
    int rc;
    if (run->nranks == 0)
        return err_set(e, ERR_INPUT,
                       "%s: an execution trace holds no times: put the Kineto files of the same "
                       "run beside it",
                       label);
    et = array_new(1, sizeof *et);
    et->run = et->k.run = run;
    et->label = label;
    et->pid = -1;
    et->k.world_size = run->world_size;
    et->k.reported_rank = -1;
    rc = read_file(et, s, e);
    if (rc == 0)
        et_join(et);
    free(et->calls.list);
    kineto_groups_release(&et->k);
    free(et);
    return rc;
}

static bool et_sniff(const char *head, size_t len)
{
    size_t i = 0;
    while (i < len && isspace((unsigned char)head[i]))
        i++;
    return i < len && head[i] == '{' && head_has(head, len, "\"schema\"") &&
           head_has(head, len, "\"nodes\"") && head_has(head, len, "\"pid\"") &&
           !head_has(head, len, "\"traceEvents\"");
}

const struct reader reader_et = {.name = "et",
                                 .completes = &reader_kineto,
                                 .sniff = et_sniff,
                                 .read = et_read,
                                 .finish = order_note_gaps};

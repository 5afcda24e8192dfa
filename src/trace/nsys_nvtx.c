/* SPDX-License-Identifier: MIT
 *
 * NVTX: operations of PyTorch (torch.autograd.profiler.emit_nvtx), its names for collectives,
 * NCCL's own ranges, and what the program named itself: steps and marks. PyTorch's ranges are kept
 * only where a launch lies in them: a profile can hold millions without one.
 */
#include "trace/nsys.h"

#ifdef SPECTER_HAVE_SQLITE

#include "base/order.h"
#include "trace/kernel_names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* eventType */
#define NVTX_MARK 34
#define NVTX_PUSH_POP 59
#define NVTX_START_END 60

enum {
    NVTX_START,
    NVTX_END,
    NVTX_TYPE,
    NVTX_THREAD,
    NVTX_TEXT,
    NVTX_TEXT_ID,
    NVTX_JSON,
    NVTX_JSON_ID,
    NVTX_BINARY,
    NVTX_COLUMNS
};

/* ---- launches by thread and time ---- */

struct launch_order {
    const struct nsys_launch *list;
};

static int compare_launches(const void *pa, const void *pb, void *arg)
{
    const struct launch_order *order = arg;
    const struct nsys_launch *a = &order->list[*(const uint32_t *)pa];
    const struct nsys_launch *b = &order->list[*(const uint32_t *)pb];
    if (a->tid != b->tid)
        return ORDER(a->tid, b->tid);
    return ORDER(a->start_ns, b->start_ns);
}

static bool holds_launch(const struct nsys_process *p, uint32_t tid, int64_t start, int64_t end)
{
    struct bisect find = {.high = p->nby_time};
    while (bisect_next(&find)) {
        const struct nsys_launch *launch = &p->launches.list[p->by_time[find.mid]];
        bisect_take(&find, launch->tid < tid || (launch->tid == tid && launch->start_ns < start));
    }
    return find.low < p->nby_time && p->launches.list[p->by_time[find.low]].tid == tid &&
           p->launches.list[p->by_time[find.low]].start_ns <= end;
}

/* ---- names ---- */

static bool starts_with(struct json_text text, const char *with)
{
    size_t len = strlen(with);
    return text.len >= len && memcmp(text.p, with, len) == 0;
}

/* "aten::mm, seq = 4, op_id = 17, sizes = [[2, 3]]" is aten::mm. 0 when it is not so formed. */
static uint32_t framework_len(struct json_text text)
{
    static const char *const behind[] = {", op_id = ", ", seq = ", ", sizes = "};
    size_t best = 0;
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        const char *at = memmem(text.p, text.len, behind[i], strlen(behind[i]));
        if (at != NULL && (best == 0 || (size_t)(at - text.p) < best))
            best = (size_t)(at - text.p);
    }
    return best > 0 ? (uint32_t)best : starts_with(text, "aten::") ? text.len : 0;
}

/* Returns whether a range of this name stands for a training step. Its number does not matter. */
static bool names_step(struct json_text text)
{
    static const char *const names[] = {"step",       "iteration",    "iter",
                                        "trainstep",  "trainingstep", "trainiter",
                                        "globalstep", "profilerstep", "trainiteration"};
    char plain[24];
    size_t n = 0;
    for (uint32_t i = 0; i < text.len; i++) {
        if (!isalpha((unsigned char)text.p[i])) {
            if (strchr("_ -#:=./()[]0123456789", text.p[i]) == NULL || text.p[i] == '\0')
                return false;
            continue;
        }
        if (n + 1 == sizeof plain)
            return false;
        plain[n++] = (char)tolower((unsigned char)text.p[i]);
    }
    plain[n] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(plain, names[i]) == 0)
            return true;
    }
    return false;
}

/* ---- rows ---- */

struct nvtx_event {
    struct nsys_process *process;
    int64_t start_ns, end_ns, thread;
    struct json_text text;
};

static void add_range(struct nsys *n, const struct nvtx_event *ev, enum nsys_range_kind kind,
                      struct json_text name, int32_t detail)
{
    struct nsys_process *p = ev->process;
    struct nsys_range *range;
    ARRAY_GROW(p->ranges.list, p->ranges.cap, p->ranges.count + 1);
    range = &p->ranges.list[p->ranges.count++];
    *range = (struct nsys_range){
        .start_ns = ev->start_ns,
        .end_ns = ev->end_ns,
        .name = memo_find(&n->texts, n->run, name)->text,
        .detail = detail,
        .tid = idmap_add(&p->threads, ev->thread),
        .kind = (uint8_t)kind,
    };
}

/* A call of NCCL: ncclGroupStart and ncclGroupEnd become ranges, one that moves data a range and a
 * call, one that makes or ends a communicator (it says nranks) a call; others nothing. */
static void add_nccl(struct nsys *n, const struct nvtx_event *ev, const struct nsys_rows *rows)
{
    struct json_text name = {ev->text.p + 4, ev->text.len - 4, false};
    struct nsys_process *p = ev->process;
    struct nsys_call call = {.bytes = -1, .peer = -1, .nranks = -1, .rank = -1, .device = -1};
    const unsigned char *data;
    size_t len;
    if (starts_with(name, "GroupStart") || starts_with(name, "GroupEnd")) {
        add_range(n, ev, starts_with(name, "GroupStart") ? NSYS_GROUP_BEGIN : NSYS_GROUP_END,
                  ev->text, 0);
        return;
    }
    call.op = (uint8_t)comm_op_named(name.p, name.len);
    call.redop = SPECTER_REDOP_NONE;
    data = nsys_bytes(rows, NVTX_BINARY, &len);
    nsys_payload(n, &call, data, len);
    nsys_payload_json(&call, nsys_text(rows, NVTX_JSON));
    if (nsys_int(rows, NVTX_JSON_ID, -1) >= 0)
        nsys_payload_json(&call, nsys_string(n->db, nsys_int(rows, NVTX_JSON_ID, -1)));
    if (call.op == SPECTER_COMM_OP_COUNT && call.nranks < 0)
        return;
    if (call.op != SPECTER_COMM_OP_COUNT)
        add_range(n, ev, NSYS_CALL, ev->text, (int32_t)p->calls.count);
    ARRAY_GROW(p->calls.list, p->calls.cap, p->calls.count + 1);
    p->calls.list[p->calls.count++] = call;
}

static void add_span(struct nsys *n, const struct nvtx_event *ev)
{
    struct nsys_process *p = ev->process;
    if (p->spans.count == NSYS_MARKS_MAX) {
        n->left_out++;
        return;
    }
    ARRAY_GROW(p->spans.list, p->spans.cap, p->spans.count + 1);
    p->spans.list[p->spans.count++] =
        (struct mark){ev->start_ns, ev->end_ns, memo_find(&n->texts, n->run, ev->text)->text,
                      idmap_add(&p->threads, ev->thread)};
}

/* Adds the product (product.h) that an operator's range describes to the process. Returns its
 * index; -1: it is no such operator, or has no sizes. Where PyTorch's ranges carry the sizes of
 * their inputs: emit_nvtx(record_shapes=True), nsys --pytorch=autograd-shapes-nvtx. Types and
 * values are not recorded. */
static int32_t product_in(struct nsys_process *p, const char *name, struct json_text text)
{
    static const char key[] = "sizes = ";
    const char *at = memmem(text.p, text.len, key, sizeof key - 1);
    struct product_inputs in = {{NULL, 0, false}, {NULL, 0, false}, {NULL, 0, false}};
    if (at == NULL || product_kind_of(name) == PRODUCT_NONE)
        return -1;
    at += sizeof key - 1;
    in.dims = (struct json_text){at, text.len - (uint32_t)(at - text.p), false};
    ARRAY_GROW(p->products.list, p->products.cap, p->products.count + 1);
    p->products.list[p->products.count] = product_of(name, &in);
    return (int32_t)p->products.count++;
}

static void add_framework(struct nsys *n, const struct nvtx_event *ev, uint32_t len)
{
    struct json_text name = {ev->text.p, len, false};
    uint32_t tid = idmap_find(&ev->process->threads, ev->thread);
    if (tid == IDMAP_NONE || !holds_launch(ev->process, tid, ev->start_ns, ev->end_ns))
        return;
    if (starts_with(name, "nccl:"))
        add_range(n, ev, NSYS_ANNOTATION, name, comm_op_named(name.p + 5, len - 5));
    else
        add_range(n, ev, NSYS_FRAMEWORK, name,
                  product_in(ev->process, memo_find(&n->texts, n->run, name)->text, ev->text));
}

/* False when the row cannot be used. */
static bool add_event(struct nsys *n, const struct nsys_rows *rows)
{
    int64_t type = nsys_int(rows, NVTX_TYPE, -1);
    struct nvtx_event ev = {.thread = nsys_int(rows, NVTX_THREAD, 0)};
    if (type != NVTX_MARK && type != NVTX_PUSH_POP && type != NVTX_START_END)
        return true;
    ev.process = nsys_process_of(n, ev.thread);
    if (ev.process == NULL)
        return true;
    ev.start_ns = nsys_int(rows, NVTX_START, UNKNOWN_NS);
    ev.end_ns = type == NVTX_MARK ? ev.start_ns : nsys_int(rows, NVTX_END, n->last_ns);
    if (ev.end_ns < ev.start_ns && nsys_int(rows, NVTX_END, UNKNOWN_NS) == UNKNOWN_NS)
        ev.end_ns = ev.start_ns; /* left open after the last moment */
    if (!nsys_times(ev.start_ns, ev.end_ns))
        return false;
    ev.text = nsys_text(rows, NVTX_TEXT);
    if (ev.text.p == NULL && nsys_int(rows, NVTX_TEXT_ID, -1) >= 0)
        ev.text = nsys_name(n, nsys_int(rows, NVTX_TEXT_ID, -1));
    if (ev.text.p != NULL && ev.text.len > 0) {
        uint32_t len = (type == NVTX_MARK) ? 0 : framework_len(ev.text);
        if (starts_with(ev.text, "nccl") && ev.text.len > 4 &&
            isupper((unsigned char)ev.text.p[4])) {
            if (type != NVTX_MARK)
                add_nccl(n, &ev, rows);
        } else if (len > 0 || starts_with(ev.text, "nccl:")) {
            add_framework(n, &ev, len > 0 ? len : ev.text.len);
        } else {
            add_span(n, &ev);
        }
    }
    return true;
}

/* ---- steps and marks ---- */

static int compare_spans(const void *pa, const void *pb)
{
    const struct mark *a = pa, *b = pb;
    if (a->start_ns != b->start_ns)
        return ORDER(a->start_ns, b->start_ns);
    return ORDER(b->end_ns, a->end_ns); /* the outer one first */
}

/* Gives steps to the ranks of all devices of the process, marks to the first of them alone. A step
 * within a step is a mark. A step that was left open ends with the recording. */
static void place_spans(struct nsys *n, size_t process)
{
    struct nsys_process *p = &n->processes.list[process];
    int64_t end = INT64_MIN;
    if (p->spans.count > 0)
        qsort(p->spans.list, p->spans.count, sizeof *p->spans.list, compare_spans);
    for (size_t s = 0; s < p->spans.count; s++) {
        const struct mark *span = &p->spans.list[s];
        struct json_text name = {span->name, (uint32_t)strlen(span->name), false};
        bool step = span->end_ns > span->start_ns && names_step(name) && span->start_ns >= end;
        bool placed = false;
        end = step ? span->end_ns : end;
        for (size_t i = 0; i < n->members.count; i++) {
            struct rank *rank = &n->run->ranks[n->members.list[i].rank];
            if (n->members.list[i].process != process || (placed && !step))
                continue;
            if (step)
                *rank_add_step(rank) = (struct step){span->start_ns, span->end_ns, span->name,
                                                     span->tid, span->end_ns == n->last_ns};
            else
                *rank_add_mark(rank) = *span;
            placed = true;
        }
    }
}

/* ---- what is around each launch ----
 *
 * One pass over a process's ranges and launches, by thread and time,
 * with the ranges that are open at the moment on a stack. Each frame of it carries what holds
 * inside, so that a launch looks at the top only.
 *
 * NCCL carries a call out in the call itself, or, between ncclGroupStart and ncclGroupEnd, in the
 * outermost ncclGroupEnd. */

#define STACK_MAX 1024 /* ranges within ranges; deeper ones are not looked at */

struct frame {
    int64_t end_ns;
    const char *caller;
    int32_t annotated_op, group, product;
};

struct around {
    struct nsys_process *p;
    struct frame stack[STACK_MAX + 1]; /* [0]: outside of all */
    int depth;
    uint32_t tid;
    int groups;  /* ncclGroupStart without their ncclGroupEnd */
    size_t open; /* where the calls of the outermost one begin */
};

static int compare_ranges(const void *pa, const void *pb)
{
    const struct nsys_range *a = pa, *b = pb;
    if (a->tid != b->tid)
        return ORDER(a->tid, b->tid);
    if (a->start_ns != b->start_ns)
        return ORDER(a->start_ns, b->start_ns);
    return ORDER(b->end_ns, a->end_ns); /* the outer one first */
}

static void enter_thread(struct around *a, uint32_t tid)
{
    if (a->tid == tid)
        return;
    a->tid = tid;
    a->depth = 0;
    a->groups = 0;
}

static void leave_ended(struct around *a, int64_t t_ns)
{
    while (a->depth > 0 && a->stack[a->depth].end_ns < t_ns)
        a->depth--;
}

/* Calls from `first` on went to the device together. */
static int32_t add_group(struct nsys_process *p, size_t first)
{
    ARRAY_GROW(p->groups.list, p->groups.cap, p->groups.count + 1);
    p->groups.list[p->groups.count] = (struct nsys_group){first, p->ordered.count - first};
    return (int32_t)p->groups.count++;
}

static void push(struct around *a, const struct nsys_range *range)
{
    struct frame frame = a->stack[a->depth];
    frame.end_ns = range->end_ns;
    switch ((enum nsys_range_kind)range->kind) {
    case NSYS_ANNOTATION:
        frame.annotated_op = range->detail;
        frame.caller = range->name;
        break;
    case NSYS_FRAMEWORK:
        frame.caller = range->name;
        if (range->detail >= 0)
            frame.product = range->detail;
        break;
    case NSYS_CALL: {
        struct nsys_process *p = a->p;
        ARRAY_GROW(p->ordered.list, p->ordered.cap, p->ordered.count + 1);
        p->ordered.list[p->ordered.count++] = range->detail;
        if (a->groups == 0)
            frame.group = add_group(p, p->ordered.count - 1);
    } break;
    case NSYS_GROUP_BEGIN:
        if (a->groups++ == 0)
            a->open = a->p->ordered.count;
        break;
    case NSYS_GROUP_END:
        /* without its begin, which the profile may have cut off, what is in it is not known */
        if (a->groups > 0 && --a->groups == 0)
            frame.group = add_group(a->p, a->open);
        break;
    }
    if (a->depth < STACK_MAX)
        a->stack[++a->depth] = frame;
}

static bool before(const struct nsys_launch *launch, const struct nsys_range *range)
{
    if (launch->tid != range->tid)
        return launch->tid < range->tid;
    return launch->start_ns < range->start_ns;
}

static void find_around(struct nsys_process *p)
{
    struct around *a = array_new(1, sizeof *a);
    size_t r = 0, l = 0;
    a->p = p;
    a->tid = UINT32_MAX;
    a->stack[0] = (struct frame){INT64_MAX, "", SPECTER_COMM_OP_COUNT, -1, -1};
    if (p->ranges.count > 0)
        qsort(p->ranges.list, p->ranges.count, sizeof *p->ranges.list, compare_ranges);
    while (l < p->nby_time || r < p->ranges.count) {
        struct nsys_launch *launch = l < p->nby_time ? &p->launches.list[p->by_time[l]] : NULL;
        const struct nsys_range *range = r < p->ranges.count ? &p->ranges.list[r] : NULL;
        if (range == NULL || (launch != NULL && before(launch, range))) {
            const struct frame *frame;
            enter_thread(a, launch->tid);
            leave_ended(a, launch->start_ns);
            frame = &a->stack[a->depth];
            launch->annotated_op = frame->annotated_op;
            launch->group = frame->group;
            launch->product = frame->product;
            launch->caller = frame->caller;
            l++;
            continue;
        }
        enter_thread(a, range->tid);
        leave_ended(a, range->start_ns);
        push(a, range);
        r++;
    }
    free(a);
}

/* ---- kernels of operators whose arithmetic is known ---- */

static void link_products(struct nsys *n)
{
    struct product_kernel *list = NULL;
    size_t cap = 0;
    for (size_t m = 0; m < n->members.count; m++) {
        const struct nsys_process *p = &n->processes.list[n->members.list[m].process];
        struct rank *rank = &n->run->ranks[n->members.list[m].rank];
        size_t count = 0;
        for (size_t i = 0; i < rank->nops; i++) {
            const struct op *op = &rank->ops[i];
            uint32_t found = op->class == OP_KERNEL && (int64_t)op->id >= 0
                                 ? idmap_find(&p->launch_ids, (int64_t)op->id)
                                 : IDMAP_NONE;
            int32_t at = found != IDMAP_NONE ? p->launches.list[found].product : -1;
            if (at < 0)
                continue;
            ARRAY_GROW(list, cap, count + 1);
            list[count++] = (struct product_kernel){(size_t)at, i, &p->products.list[at]};
        }
        products_assign(rank, list, count, NULL, NULL);
    }
    free(list);
}

void nsys_nvtx(struct nsys *n)
{
    static const char *const columns[NVTX_COLUMNS] = {"start",     "end",        "eventType",
                                                      "globalTid", "text",       "textId",
                                                      "jsonText",  "jsonTextId", "binaryData"};
    struct nsys_rows rows;
    struct err e = {0};
    uint64_t bad = 0;
    int rc;
    for (size_t i = 0; i < n->processes.count; i++) {
        struct nsys_process *p = &n->processes.list[i];
        struct launch_order order = {p->launches.list};
        p->by_time = array_new(p->launches.count + 1, sizeof *p->by_time);
        for (size_t k = 0; k < p->launches.count; k++) {
            if (p->launches.list[k].start_ns != UNKNOWN_NS)
                p->by_time[p->nby_time++] = (uint32_t)k;
        }
        if (p->nby_time > 1)
            qsort_r(p->by_time, p->nby_time, sizeof *p->by_time, compare_launches, &order);
    }
    rc = nsys_scan(&rows, n->db, NSYS_NVTX, &(struct nsys_columns){columns, NVTX_COLUMNS, 4}, &e);
    n->has_nvtx = rc > 0;
    while (rc > 0 && (rc = nsys_next(&rows, &e)) > 0)
        bad += !add_event(n, &rows);
    nsys_scan_end(&rows);
    if (rc < 0)
        nsys_note_err(n, &e);
    nsys_note_rows(n, NSYS_NVTX, bad, "no usable times");
    for (size_t i = 0; i < n->processes.count; i++)
        place_spans(n, i);
    if (n->left_out > 0)
        run_note(n->run, true, "%s: %zu marks beyond %u of a process are left out", n->label,
                 n->left_out, NSYS_MARKS_MAX);
    for (size_t i = 0; i < n->processes.count; i++)
        find_around(&n->processes.list[i]);
    link_products(n);
}

#endif

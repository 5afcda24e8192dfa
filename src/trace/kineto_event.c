/* SPDX-License-Identifier: MIT */
#include "trace/kineto.h"

#include "base/hash.h"
#include "trace/api_calls.h"
#include "trace/kernel_names.h"
#include "trace/product.h"

#include <string.h>

/* Kinds of events by their category; within one the name decides. Old traces have capitalised
 * categories. */
enum category {
    CAT_UNKNOWN,
    CAT_OTHER,
    CAT_KERNEL,
    CAT_MEMCPY,
    CAT_MEMSET,
    CAT_RUNTIME,
    CAT_SYNC,
    CAT_OPERATOR,
    CAT_ANNOTATION,
    CAT_GPU_ANNOTATION,
    CAT_PYTHON,
};

_Static_assert((int)CAT_PYTHON <= (int)EVENT_MARK,
               "struct event_words has a memo for each category");

static const struct {
    const char *name;
    enum category category;
} categories[] = {
    {"cpu_op", CAT_OPERATOR},
    {"cuda_runtime", CAT_RUNTIME},
    {"kernel", CAT_KERNEL},
    {"gpu_memcpy", CAT_MEMCPY},
    {"gpu_memset", CAT_MEMSET},
    {"cuda_driver", CAT_RUNTIME},
    {"cuda_sync", CAT_SYNC},
    {"user_annotation", CAT_ANNOTATION},
    {"Kernel", CAT_KERNEL},
    {"Memcpy", CAT_MEMCPY},
    {"Memset", CAT_MEMSET},
    {"Runtime", CAT_RUNTIME},
    {"Operator", CAT_OPERATOR},
    {"python_function", CAT_PYTHON},
    {"gpu_user_annotation", CAT_GPU_ANNOTATION},
    {"hip_runtime", CAT_RUNTIME},
    {"hip_driver", CAT_RUNTIME},
    {"xpu_runtime", CAT_RUNTIME},
    {"xpu_driver", CAT_RUNTIME},
    {"mtia_runtime", CAT_RUNTIME},
    {"privateuse1_runtime", CAT_RUNTIME},
    {"privateuse1_driver", CAT_RUNTIME},
};

static enum category category_of(struct json_text text)
{
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        if (json_text_is(text, categories[i].name))
            return categories[i].category;
    }
    return CAT_OTHER;
}

/* ---- names ---- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* kind and detail in one number, for the memo. */
static int32_t verdict(enum event_kind kind, int detail)
{
    return (int32_t)kind | detail << 8;
}

/* A call that is newer than Kineto's list of names is INVALID: in PyTorch 2.11 for CUDA 13 every
 * launch by <<<>>> (__cudaLaunchKernel). Which of them launch, the correlation says. */
static int32_t runtime_verdict(const char *name)
{
    enum api_call call = api_call_named(name, strlen(name));
    if (api_call_sync_kind(call) >= 0)
        return verdict(EVENT_SYNC_CALL, api_call_sync_kind(call));
    if (call == API_OTHER && strcmp(name, "INVALID") == 0)
        call = API_LAUNCH;
    return call == API_OTHER ? verdict(EVENT_OTHER, 0) : verdict(EVENT_LAUNCH, (int)call);
}

static int kernel_kind(const char *name)
{
    switch (specter_kernel_class_of(name)) {
    case SPECTER_KERNEL_COMM:
        return KERNEL_COMM;
    case SPECTER_KERNEL_GEMM:
    case SPECTER_KERNEL_ATTENTION:
        return KERNEL_COMPUTES;
    default:
        return KERNEL_OTHER;
    }
}

static int32_t name_verdict(enum category category, const char *name)
{
    switch (category) {
    case CAT_KERNEL: /* capitalised traces put copies there too */
        return begins(name, "Memcpy")   ? verdict(EVENT_MEMCPY, 0)
               : begins(name, "Memset") ? verdict(EVENT_MEMSET, 0)
                                        : verdict(EVENT_KERNEL, kernel_kind(name));
    case CAT_MEMCPY:
        return verdict(EVENT_MEMCPY, 0);
    case CAT_MEMSET:
        return verdict(EVENT_MEMSET, 0);
    case CAT_SYNC:
        return verdict(EVENT_SYNC, 0);
    case CAT_RUNTIME:
        return runtime_verdict(name);
    case CAT_OPERATOR:
    case CAT_ANNOTATION:
        if (begins(name, KINETO_STEP))
            return verdict(EVENT_STEP, 0);
        if (begins(name, "nccl:") || begins(name, "xccl:") || comm_operator_input(name) >= 0)
            return verdict(EVENT_COLLECTIVE, 0);
        if (strcmp(name, "record_param_comms") == 0)
            return verdict(EVENT_PARAMS, 0);
        if (product_kind_of(name) != PRODUCT_NONE)
            return verdict(EVENT_PRODUCT, 0);
        return verdict(category == CAT_OPERATOR ? EVENT_OP : EVENT_MARK, 0);
    case CAT_GPU_ANNOTATION:
        return verdict(
            begins(name, KINETO_STEP) || begins(name, "nccl:") ? EVENT_OTHER : EVENT_GPU_MARK, 0);
    case CAT_PYTHON:
        return verdict(EVENT_MARK, 0);
    case CAT_UNKNOWN:
    case CAT_OTHER:
        break;
    }
    return verdict(EVENT_OTHER, 0);
}

/* ---- args ---- */

enum arg_kind { ARG_NUM, ARG_STR, ARG_RAW, ARG_LIST };

static const struct arg {
    const char *key;
    uint8_t len, kind;
    uint16_t offset;
} known_args[] = {
#define X(field, kind, key) {key, sizeof key - 1, ARG_##kind, offsetof(struct event_args, field)},
    EVENT_ARGS(X)
#undef X
};

void event_args_init(struct event_args *args)
{
    static const struct event_args none = {
#define INIT_NUM ARG_NONE
#define INIT_STR {NULL, 0, false}
#define INIT_LIST INIT_STR
#define INIT_RAW       \
    {                  \
        NULL, 0, false \
    }
#define X(field, kind, key) .field = INIT_##kind,
        EVENT_ARGS(X)
#undef X
    };
    *args = none;
}

/* Kineto of 2021 writes "external id" on device work and runtime calls. */
static bool is_external_id(struct json_text key)
{
    return json_text_is(key, "External id") || json_text_is(key, "external id");
}

static const struct arg *find_arg(struct json_text key)
{
    if (is_external_id(key))
        key = (struct json_text){"External id", strlen("External id"), false};
    for (size_t i = 0; i < sizeof known_args / sizeof *known_args; i++) {
        if (known_args[i].len == key.len && memcmp(known_args[i].key, key.p, key.len) == 0)
            return &known_args[i];
    }
    return NULL;
}

/* Whole numbers; older exporters write some of them as text. */
int64_t event_number(struct json *j)
{
    struct json inner;
    struct json_text text;
    if (json_peek(j) != '"')
        return json_i64(j, ARG_NONE);
    text = json_string(j);
    json_init(&inner, text.p, text.len);
    if (json_peek(&inner) == '0' || json_peek(&inner) == '-') {
        int64_t value = json_i64(&inner, ARG_NONE);
        json_end(&inner);
        return inner.error == NULL ? value : ARG_NONE;
    }
    return ARG_NONE;
}

int64_t event_time_ns(struct json *j)
{
    struct json inner;
    struct json_text text;
    int64_t value;
    if (json_peek(j) != '"')
        return json_time_ns(j, 1000, UNKNOWN_NS);
    text = json_string(j);
    json_init(&inner, text.p, text.len);
    value = json_time_ns(&inner, 1000, UNKNOWN_NS);
    json_end(&inner);
    return inner.error == NULL ? value : UNKNOWN_NS;
}

/* Merged traces have texts for pids: equal texts give equal numbers, below those of -1 and none. */
static int64_t number_or_text(struct json *j)
{
    struct json ahead = *j;
    int64_t value = event_number(j);
    if (value == ARG_NONE && j->error == NULL && json_peek(&ahead) == '"') {
        struct json_text text = json_string(&ahead);
        value = -2 - (int64_t)(hash_bytes(HASH_BYTES, text.p, text.len) >> 2);
    }
    return value;
}

/* A value of no interest. Profilers divide by durations of 0, and write what comes of it as C does.
 */
static void skip_arg(struct json *j)
{
    static const char *const words[] = {"inf", "-inf", "Infinity", "-Infinity", "NaN", "-NaN"};
    const char *p = j->p;
    while (p < j->end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
        p++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i]);
        if (p < j->end && *p == words[i][0] && (size_t)(j->end - p) > len &&
            memcmp(p, words[i], len) == 0) {
            j->p = p + len;
            return;
        }
    }
    json_skip(j);
}

/* Reads the id of an operator, which stands first; nothing else of it is of use. */
static void take_external(struct event_args *args, struct json *j)
{
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        if (is_external_id(key)) {
            args->external = event_number(j);
            json_leave(j);
            return;
        }
        skip_arg(j);
    }
}

static void take_args(struct event_args *args, struct json *j)
{
    struct json_text key;
    const struct arg *arg;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        arg = find_arg(key);
        if (arg == NULL) {
            skip_arg(j);
            continue;
        }
        void *field = (char *)args + arg->offset;
        struct json_text *text = field;
        char next = json_peek(j);
        if (arg->kind == ARG_NUM) {
            *(int64_t *)field = event_number(j);
        } else if ((arg->kind == ARG_STR || arg->kind == ARG_LIST) && next == '"') {
            *text = json_string(j);
        } else {
            text->p = j->p;
            json_skip(j);
            text->len = (uint32_t)(j->p - text->p);
            if (next == 'n' || arg->kind == ARG_STR || (arg->kind == ARG_LIST && next != '['))
                *text = (struct json_text){NULL, 0, false};
        }
    }
}

/* ---- the element ---- */

/* The parts of an element that were read so far. */
struct partial {
    enum category category;
    bool has_name, has_phase, other_phase;
    struct json_text name, raw_args;
};

/* False as soon as the element is known to be of no interest. */
static bool decide(struct kineto_event *ev, struct partial *p, struct event_memos *words,
                   struct run *run)
{
    if (p->other_phase || p->category == CAT_OTHER)
        return false;
    if (p->category == CAT_UNKNOWN || !p->has_name || ev->slot != NULL)
        return true;
    /* Python frames are the bulk of many traces, and of all names: only modules are looked up. */
    static const char module[] = "nn.Module:";
    if (p->category == CAT_PYTHON && p->has_name &&
        (p->name.len < sizeof module - 1 || memcmp(p->name.p, module, sizeof module - 1) != 0))
        return false;
    ev->slot = memo_find(&words->names[p->category], run, p->name);
    if (ev->slot->value < 0)
        ev->slot->value = name_verdict(p->category, ev->slot->text);
    ev->name = ev->slot->text;
    ev->kind = (enum event_kind)(ev->slot->value & 0xff);
    ev->detail = ev->slot->value >> 8;
    ev->is_operator = p->category == CAT_OPERATOR;
    return ev->kind != EVENT_OTHER;
}

/* Reads the value of a key; one that may be of interest only later is kept as it stands. */
static void take_key(struct kineto_event *ev, struct partial *p, struct json_text key,
                     struct json *j)
{
    if (json_text_is(key, "ts")) {
        ev->ts_ns = event_time_ns(j);
    } else if (json_text_is(key, "dur")) {
        ev->dur_ns = event_time_ns(j);
    } else if (json_text_is(key, "args")) {
        if (ev->kind == EVENT_OP) {
            take_external(&ev->args, j);
        } else if (ev->kind != EVENT_OTHER) {
            take_args(&ev->args, j);
        } else {
            json_peek(j);
            p->raw_args.p = j->p;
            json_skip(j);
            p->raw_args.len = (uint32_t)(j->p - p->raw_args.p);
        }
    } else if (json_text_is(key, "name")) {
        p->name = json_string(j);
        p->has_name = true;
    } else if (json_text_is(key, "cat")) {
        p->category = category_of(json_string(j));
    } else if (json_text_is(key, "ph")) {
        p->other_phase = !json_text_is(json_string(j), "X");
        p->has_phase = true;
    } else if (json_text_is(key, "tid")) {
        ev->tid = number_or_text(j);
    } else if (json_text_is(key, "pid")) {
        ev->pid = number_or_text(j);
    } else {
        json_skip(j);
    }
}

bool event_parse(struct kineto_event *ev, struct json *j, struct event_memos *words,
                 struct run *run)
{
    struct partial p = {.category = CAT_UNKNOWN};
    struct json_text key;
    struct json args;
    ev->kind = EVENT_OTHER;
    ev->name = NULL;
    ev->slot = NULL;
    ev->ts_ns = ev->dur_ns = UNKNOWN_NS;
    ev->pid = ev->tid = -1;
    ev->damaged = ev->is_operator = false;
    event_args_init(&ev->args);
    if (!json_enter(j, '{'))
        return j->error == NULL;
    while (json_next_key(j, &key)) {
        take_key(ev, &p, key, j);
        if (j->error == NULL && !decide(ev, &p, words, run)) {
            ev->kind = EVENT_OTHER;
            json_leave(j);
            return j->error == NULL;
        }
    }
    if (!p.has_phase && ev->dur_ns == UNKNOWN_NS) /* tools leave it out: what lasts is complete */
        ev->kind = EVENT_OTHER;
    if (ev->kind != EVENT_OTHER && p.raw_args.p != NULL && j->error == NULL) {
        json_init(&args, p.raw_args.p, p.raw_args.len);
        take_args(&ev->args, &args);
        ev->damaged = args.error != NULL;
    }
    return j->error == NULL;
}

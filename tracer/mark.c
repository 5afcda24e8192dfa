/* SPDX-License-Identifier: MIT */
#include "abi/nvtx.h"

#include "mark.h"

#include "call.h"
#include "filter.h"
#include "threads.h"
#include "tracer.h"

#include <errno.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* As much as fits, cut between characters. */
static void copy_name(char to[MARK_NAME_MAX], const char *name)
{
    size_t len = name != NULL ? strnlen(name, MARK_NAME_MAX) : 0;
    if (len == MARK_NAME_MAX) {
        len--;
        while (len > 0 && ((unsigned char)name[len] & 0xc0) == 0x80)
            len--;
    }
    if (len > 0)
        memcpy(to, name, len);
    to[len] = '\0';
}

/* ---- one record ---- */

static void count_lost(void)
{
    if (filter_wants(RECORD_MARK))
        atomic_fetch_add_explicit(&tracer.lost, 1, memory_order_relaxed);
}

/* The calling thread when marks are looked at. Never starts the tracer. `begins`: what comes now
 * would lead to a record, which is lost at the tracer's end. */
static struct thread *marking_thread(bool begins)
{
    int state = atomic_load_explicit(&tracer.state, memory_order_acquire), saved = errno;
    struct thread *t;
    if (state == TRACER_ENDING && thread_depth == 0 && begins)
        count_lost();
    if (thread_depth > 0 || (state != TRACER_ON && state != TRACER_LOSING))
        return NULL;
    t = thread_self();
    if (t == NULL)
        count_lost();
    errno = saved;
    return t;
}

static struct record mark_record(enum specter_mark kind, uint16_t tid, const char *name,
                                 int64_t from_ns)
{
    struct record r = record_blank;
    r.kind = RECORD_MARK;
    r.op = (uint16_t)kind;
    r.tid = tid;
    r.host_ns = from_ns;
    copy_name(r.mark.name, name);
    return r;
}

static void leave_record(struct thread *t, const struct record *r)
{
    int saved = errno;
    call_record_mark(t, r);
    errno = saved;
}

/* The filter hears of it first: the mark that begins the first iteration wanted is recorded. */
static void put_moment(struct thread *t, enum specter_mark kind, const char *name)
{
    struct record r = mark_record(kind, t->tid, name, tracer_now());
    if (kind == SPECTER_MARK_ITERATION)
        filter_iteration();
    leave_record(t, &r);
}

static bool is_marker(const char *name)
{
    const char *marker = tracer.config.marker;
    return name != NULL && marker[0] != '\0' && strcmp(name, marker) == 0;
}

/* Where a range begins. */
static void note_start(struct thread *t, const char *name)
{
    if (is_marker(name))
        put_moment(t, SPECTER_MARK_ITERATION, name);
}

/* ---- ranges of a thread ---- */

static struct open_ranges *ranges_of(struct thread *t)
{
    struct open_ranges *there = atomic_load_explicit(&t->ranges, memory_order_relaxed);
    int saved = errno;
    if (there == NULL) {
        there = memory_map(sizeof *there);
        atomic_store_explicit(&t->ranges, there, memory_order_release);
    }
    errno = saved;
    return there;
}

static bool try_lock(struct open_ranges *s)
{
    return !atomic_exchange_explicit(&s->busy, true, memory_order_acquire);
}

static void unlock(struct open_ranges *s)
{
    atomic_store_explicit(&s->busy, false, memory_order_release);
}

static int count_of(const struct open_ranges *s, const void *domain)
{
    int n = 0;
    for (uint32_t i = 0; i < s->depth; i++)
        n += s->open[i].domain == domain;
    return n;
}

static int push(struct open_ranges *s, const void *domain, const char *name, int64_t now_ns)
{
    int level = count_of(s, domain);
    if (s->depth == RANGES_MAX) {
        count_lost();
        return level + (int)s->above++;
    }
    s->open[s->depth].start_ns = now_ns;
    s->open[s->depth].domain = domain;
    copy_name(s->open[s->depth].name, name);
    s->depth++;
    return level;
}

/* Opens a range within a domain. How many of the thread and domain are open below it; 0 also for
 * what is not recorded, because a negative value would be the program's error. */
static int push_range(const void *domain, const char *name)
{
    struct thread *t = marking_thread(true);
    struct open_ranges *s = t != NULL ? ranges_of(t) : NULL;
    int level = 0;
    if (t == NULL)
        return 0;
    note_start(t, name);
    if (s == NULL) {
        count_lost();
    } else if (try_lock(s)) {
        level = push(s, domain, name, tracer_now());
        unlock(s);
    }
    return level;
}

/* Takes the innermost range of the domain; false: there is none. */
static bool pop(struct open_ranges *s, const void *domain, struct open_range *out)
{
    uint32_t i = s->depth;
    while (i > 0 && s->open[i - 1].domain != domain)
        i--;
    if (i == 0)
        return false;
    *out = s->open[i - 1];
    memmove(&s->open[i - 1], &s->open[i], (s->depth - i) * sizeof s->open[0]);
    s->depth--;
    return true;
}

/* Ends the innermost range of the domain. Returns how many remain open; 0 as above. */
static int pop_range(const void *domain)
{
    struct thread *t = marking_thread(false);
    struct open_ranges *s =
        t != NULL ? atomic_load_explicit(&t->ranges, memory_order_relaxed) : NULL;
    struct open_range range;
    bool found = false;
    int level = 0;
    if (s == NULL || !try_lock(s))
        return 0;
    if (s->above > 0)
        level = count_of(s, domain) + (int)--s->above;
    else if ((found = pop(s, domain, &range)))
        level = count_of(s, domain);
    unlock(s);
    if (found) {
        struct record r = mark_record(SPECTER_MARK_RANGE, t->tid, range.name, range.start_ns);
        r.host_end_ns = tracer_now();
        leave_record(t, &r);
    }
    return level;
}

void mark_abandon(struct thread *t, mark_writer *write)
{
    struct open_ranges *s = atomic_load_explicit(&t->ranges, memory_order_acquire);
    if (s == NULL || !try_lock(s))
        return;
    for (uint32_t i = 0; i < s->depth && filter_wants(RECORD_MARK); i++) {
        struct record r =
            mark_record(SPECTER_MARK_RANGE, t->tid, s->open[i].name, s->open[i].start_ns);
        write(&r);
    }
    s->depth = s->above = 0;
    unlock(s);
}

/* ---- ranges between threads ---- */

#define BEGUN_MAX 256 /* a power of two */
#define BEGUN_FILLING 1

static struct begun {
    _Atomic uint64_t id; /* 0: free; BEGUN_FILLING; else of the range, its slot in the low byte */
    uint16_t tid;
    struct open_range range;
} begun[BEGUN_MAX];
static _Atomic uint64_t begun_count;

/* Begins a range that may end in another thread. The id, 0 when it is not recorded. */
static uint64_t begin_range(const char *name)
{
    struct thread *t = marking_thread(true);
    uint64_t n;
    if (t == NULL)
        return 0;
    note_start(t, name);
    n = atomic_fetch_add_explicit(&begun_count, 1, memory_order_relaxed);
    for (uint64_t i = 0; i < BEGUN_MAX; i++) {
        uint64_t slot = (n + i) % BEGUN_MAX, none = 0, id = (n + 1) * BEGUN_MAX + slot;
        struct begun *b = &begun[slot];
        if (!atomic_compare_exchange_strong(&b->id, &none, BEGUN_FILLING))
            continue;
        b->tid = t->tid;
        b->range.start_ns = tracer_now();
        copy_name(b->range.name, name);
        atomic_store_explicit(&b->id, id, memory_order_release);
        return id;
    }
    count_lost();
    return 0;
}

/* Takes the range out of its slot, unless another thread did. */
static bool take_begun(struct begun *b, uint64_t id, struct record *r)
{
    if (id <= BEGUN_FILLING || !atomic_compare_exchange_strong(&b->id, &id, BEGUN_FILLING))
        return false;
    *r = mark_record(SPECTER_MARK_RANGE, b->tid, b->range.name, b->range.start_ns);
    atomic_store_explicit(&b->id, 0, memory_order_release);
    return true;
}

static void end_range(uint64_t id)
{
    struct thread *t = marking_thread(false);
    struct record r;
    if (t == NULL || !take_begun(&begun[id % BEGUN_MAX], id, &r))
        return;
    r.host_end_ns = tracer_now();
    leave_record(t, &r);
}

void mark_abandon_begun(mark_writer *write)
{
    struct record r;
    for (uint32_t i = 0; i < BEGUN_MAX; i++) {
        if (take_begun(&begun[i], atomic_load(&begun[i].id), &r) && filter_wants(RECORD_MARK))
            write(&r);
    }
}

void mark_reset(void)
{
    for (uint32_t i = 0; i < BEGUN_MAX; i++)
        atomic_store(&begun[i].id, 0);
    atomic_store(&begun_count, 0);
}

/* ---- what programs call ---- */

EXPORT void specter_mark(const char *name)
{
    struct thread *t = marking_thread(true);
    if (t != NULL)
        put_moment(t, is_marker(name) ? SPECTER_MARK_ITERATION : SPECTER_MARK_MARK, name);
}

EXPORT void specter_iteration(const char *name)
{
    struct thread *t = marking_thread(true);
    if (t != NULL)
        put_moment(t, SPECTER_MARK_ITERATION, name);
}

EXPORT void specter_range_push(const char *name)
{
    push_range(NULL, name);
}

EXPORT void specter_range_pop(void)
{
    pop_range(NULL);
}

/* ---- NVTX: text ---- */

static size_t put_utf8(char out[4], uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        c = 0xfffd;
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* As UTF-8, as many whole characters as fit. */
static const char *to_utf8(char out[MARK_NAME_MAX], const wchar_t *wide)
{
    size_t len = 0;
    for (; wide != NULL && *wide != L'\0'; wide++) {
        char c[4];
        size_t n = put_utf8(c, (uint32_t)*wide);
        if (len + n > MARK_NAME_MAX - 1)
            break;
        memcpy(out + len, c, n);
        len += n;
    }
    out[len] = '\0';
    return out;
}

/* ---- NVTX: registered strings and domains ---- */

#define STRINGS_MAX 1024 /* a power of two */
#define DOMAINS_MAX 256

enum string_state { STRING_FREE, STRING_FILLING, STRING_SET };

static struct string {
    _Atomic int state; /* enum string_state */
    char text[MARK_NAME_MAX];
} strings[STRINGS_MAX];
static const struct string no_string;

static char domains[DOMAINS_MAX]; /* only their addresses matter */
static _Atomic uint32_t domain_count;

/* The entry that holds the text, or a free one that now does. One that is just being filled is
 * passed over: two handles for one text do no harm. */
static const void *register_string(const char *text)
{
    uint32_t at = 5381;
    for (const char *p = text; *p != '\0'; p++)
        at = at * 33 + (unsigned char)*p;
    for (uint32_t i = 0; i < STRINGS_MAX; i++) {
        struct string *s = &strings[(at + i) % STRINGS_MAX];
        int state = STRING_FREE;
        if (atomic_compare_exchange_strong(&s->state, &state, STRING_FILLING)) {
            strcpy(s->text, text);
            atomic_store_explicit(&s->state, STRING_SET, memory_order_release);
            return s;
        }
        if (state == STRING_SET && strcmp(s->text, text) == 0)
            return s;
    }
    return &no_string;
}

static const char *string_text(const void *handle)
{
    uintptr_t at = (uintptr_t)handle, first = (uintptr_t)strings;
    if (at < first || at >= first + sizeof strings || (at - first) % sizeof strings[0] != 0)
        return "";
    return ((const struct string *)handle)->text;
}

static const void *create_domain(void)
{
    uint32_t n = atomic_fetch_add_explicit(&domain_count, 1, memory_order_relaxed);
    return &domains[n < DOMAINS_MAX ? n : DOMAINS_MAX - 1];
}

/* The text of a mark; `room` for one that has to be converted. */
static const char *message(const struct nvtx_attributes *a, char room[MARK_NAME_MAX])
{
    if (a == NULL || a->size < sizeof *a || a->message == NULL)
        return "";
    switch (a->message_type) {
    case NVTX_MESSAGE_ASCII:
        return a->message;
    case NVTX_MESSAGE_WIDE:
        return to_utf8(room, a->message);
    case NVTX_MESSAGE_STRING:
        return string_text(a->message);
    default:
        return "";
    }
}

#define MESSAGE(_attributes) message(_attributes, (char[MARK_NAME_MAX]){0})
#define NARROW(_wide) to_utf8((char[MARK_NAME_MAX]){0}, _wide)

/* ---- NVTX: the functions that a program's copy of it calls ---- */

static void mark_ex(const struct nvtx_attributes *a)
{
    specter_mark(MESSAGE(a));
}

static void mark_w(const wchar_t *text)
{
    specter_mark(NARROW(text));
}

static uint64_t range_start_ex(const struct nvtx_attributes *a)
{
    return begin_range(MESSAGE(a));
}

static uint64_t range_start_w(const wchar_t *text)
{
    return begin_range(NARROW(text));
}

static int range_push_ex(const struct nvtx_attributes *a)
{
    return push_range(NULL, MESSAGE(a));
}

static int range_push_a(const char *text)
{
    return push_range(NULL, text);
}

static int range_push_w(const wchar_t *text)
{
    return push_range(NULL, NARROW(text));
}

static int range_pop(void)
{
    return pop_range(NULL);
}

static void domain_mark_ex(const void *domain, const struct nvtx_attributes *a)
{
    (void)domain;
    specter_mark(MESSAGE(a));
}

static uint64_t domain_range_start_ex(const void *domain, const struct nvtx_attributes *a)
{
    (void)domain;
    return begin_range(MESSAGE(a));
}

static void domain_range_end(const void *domain, uint64_t id)
{
    (void)domain;
    end_range(id);
}

static int domain_range_push_ex(const void *domain, const struct nvtx_attributes *a)
{
    return push_range(domain, MESSAGE(a));
}

static const void *domain_register_string_a(const void *domain, const char *text)
{
    char name[MARK_NAME_MAX];
    (void)domain;
    copy_name(name, text);
    return register_string(name);
}

static const void *domain_register_string_w(const void *domain, const wchar_t *text)
{
    (void)domain;
    return register_string(NARROW(text));
}

static const void *domain_create_a(const char *name)
{
    (void)name;
    return create_domain();
}

static const void *domain_create_w(const wchar_t *name)
{
    (void)name;
    return create_domain();
}

static void domain_destroy(const void *domain)
{
    (void)domain;
}

/* ---- NVTX: installing them ---- */

struct callback {
    unsigned place;
    nvtx_function f;
};

#define CALLBACK(_place, _function)      \
    {                                    \
        _place, (nvtx_function)_function \
    }

static const struct callback core[] = {
    CALLBACK(NVTX_MARK_EX, mark_ex),
    CALLBACK(NVTX_MARK_A, specter_mark),
    CALLBACK(NVTX_MARK_W, mark_w),
    CALLBACK(NVTX_RANGE_START_EX, range_start_ex),
    CALLBACK(NVTX_RANGE_START_A, begin_range),
    CALLBACK(NVTX_RANGE_START_W, range_start_w),
    CALLBACK(NVTX_RANGE_END, end_range),
    CALLBACK(NVTX_RANGE_PUSH_EX, range_push_ex),
    CALLBACK(NVTX_RANGE_PUSH_A, range_push_a),
    CALLBACK(NVTX_RANGE_PUSH_W, range_push_w),
    CALLBACK(NVTX_RANGE_POP, range_pop),
};

static const struct callback core2[] = {
    CALLBACK(NVTX_DOMAIN_MARK_EX, domain_mark_ex),
    CALLBACK(NVTX_DOMAIN_RANGE_START_EX, domain_range_start_ex),
    CALLBACK(NVTX_DOMAIN_RANGE_END, domain_range_end),
    CALLBACK(NVTX_DOMAIN_RANGE_PUSH_EX, domain_range_push_ex),
    CALLBACK(NVTX_DOMAIN_RANGE_POP, pop_range),
    CALLBACK(NVTX_DOMAIN_REGISTER_STRING_A, domain_register_string_a),
    CALLBACK(NVTX_DOMAIN_REGISTER_STRING_W, domain_register_string_w),
    CALLBACK(NVTX_DOMAIN_CREATE_A, domain_create_a),
    CALLBACK(NVTX_DOMAIN_CREATE_W, domain_create_w),
    CALLBACK(NVTX_DOMAIN_DESTROY, domain_destroy),
};

static void install(const struct nvtx_callbacks *callbacks, int module,
                    const struct callback *functions, size_t count)
{
    nvtx_function **table = NULL;
    unsigned size = 0;
    if (callbacks->places(module, &table, &size) == 0 || table == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        if (functions[i].place < size && table[functions[i].place] != NULL)
            *table[functions[i].place] = functions[i].f;
    }
}

/* 0 would make NVTX close the library. */
EXPORT int InitializeInjectionNvtx2(nvtx_get_table get_table);

int InitializeInjectionNvtx2(nvtx_get_table get_table)
{
    const struct nvtx_callbacks *callbacks = get_table(NVTX_TABLE_CALLBACKS);
    if (callbacks == NULL || callbacks->struct_size < sizeof *callbacks)
        return 0;
    install(callbacks, NVTX_MODULE_CORE, core, sizeof core / sizeof *core);
    install(callbacks, NVTX_MODULE_CORE2, core2, sizeof core2 / sizeof *core2);
    return 1;
}

/* SPDX-License-Identifier: MIT */
#include "mark.h"

#include "call.h"
#include "filter.h"
#include "memory.h"
#include "threads.h"
#include "tracer.h"

#include <errno.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

void mark_copy_name(char to[MARK_NAME_MAX], const char *name)
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

static void lose(void)
{
    if (filter_wants(RECORD_MARK))
        atomic_fetch_add_explicit(&tracer.lost, 1, memory_order_relaxed);
}

/* The calling thread when marks are looked at. Never starts the tracer. `begins`: what comes now
 * would lead to a record, which is lost at the tracer's end. */
static struct thread *marking(bool begins)
{
    int state = atomic_load_explicit(&tracer.state, memory_order_acquire), saved = errno;
    struct thread *t;
    if (state == TRACER_ENDING && thread_depth == 0 && begins)
        lose();
    if (thread_depth > 0 || (state != TRACER_ON && state != TRACER_LOSING))
        return NULL;
    t = thread_self();
    if (t == NULL)
        lose();
    errno = saved;
    return t;
}

static struct record blank(enum specter_mark kind, uint16_t tid, const char *name, int64_t from_ns)
{
    struct record r = record_blank;
    r.kind = RECORD_MARK;
    r.op = (uint16_t)kind;
    r.tid = tid;
    r.host_ns = from_ns;
    mark_copy_name(r.mark.name, name);
    return r;
}

static void publish(struct thread *t, const struct record *r)
{
    int saved = errno;
    call_record_mark(t, r);
    errno = saved;
}

/* The filter hears of it first: the mark that begins the first iteration wanted is recorded. */
static void put_moment(struct thread *t, enum specter_mark kind, const char *name)
{
    struct record r = blank(kind, t->tid, name, tracer_now());
    if (kind == SPECTER_MARK_ITERATION)
        filter_iteration();
    publish(t, &r);
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

static bool seize(struct open_ranges *s)
{
    return !atomic_exchange_explicit(&s->busy, true, memory_order_acquire);
}

static void let_go(struct open_ranges *s)
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
        lose();
        return level + (int)s->above++;
    }
    s->open[s->depth].start_ns = now_ns;
    s->open[s->depth].domain = domain;
    mark_copy_name(s->open[s->depth].name, name);
    s->depth++;
    return level;
}

int mark_push(const void *domain, const char *name)
{
    struct thread *t = marking(true);
    struct open_ranges *s = t != NULL ? ranges_of(t) : NULL;
    int level = 0;
    if (t == NULL)
        return 0;
    note_start(t, name);
    if (s == NULL) {
        lose();
    } else if (seize(s)) {
        level = push(s, domain, name, tracer_now());
        let_go(s);
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

int mark_pop(const void *domain)
{
    struct thread *t = marking(false);
    struct open_ranges *s =
        t != NULL ? atomic_load_explicit(&t->ranges, memory_order_relaxed) : NULL;
    struct open_range range;
    bool found = false;
    int level = 0;
    if (s == NULL || !seize(s))
        return 0;
    if (s->above > 0)
        level = count_of(s, domain) + (int)--s->above;
    else if ((found = pop(s, domain, &range)))
        level = count_of(s, domain);
    let_go(s);
    if (found) {
        struct record r = blank(SPECTER_MARK_RANGE, t->tid, range.name, range.start_ns);
        r.host_end_ns = tracer_now();
        publish(t, &r);
    }
    return level;
}

void mark_abandon(struct thread *t, mark_writer *write)
{
    struct open_ranges *s = atomic_load_explicit(&t->ranges, memory_order_acquire);
    if (s == NULL || !seize(s))
        return;
    for (uint32_t i = 0; i < s->depth && filter_wants(RECORD_MARK); i++) {
        struct record r = blank(SPECTER_MARK_RANGE, t->tid, s->open[i].name, s->open[i].start_ns);
        write(&r);
    }
    s->depth = s->above = 0;
    let_go(s);
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

uint64_t mark_begin(const char *name)
{
    struct thread *t = marking(true);
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
        mark_copy_name(b->range.name, name);
        atomic_store_explicit(&b->id, id, memory_order_release);
        return id;
    }
    lose();
    return 0;
}

/* Takes the range out of its slot, unless another thread did. */
static bool take_begun(struct begun *b, uint64_t id, struct record *r)
{
    if (id <= BEGUN_FILLING || !atomic_compare_exchange_strong(&b->id, &id, BEGUN_FILLING))
        return false;
    *r = blank(SPECTER_MARK_RANGE, b->tid, b->range.name, b->range.start_ns);
    atomic_store_explicit(&b->id, 0, memory_order_release);
    return true;
}

void mark_end(uint64_t id)
{
    struct thread *t = marking(false);
    struct record r;
    if (t == NULL || !take_begun(&begun[id % BEGUN_MAX], id, &r))
        return;
    r.host_end_ns = tracer_now();
    publish(t, &r);
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
    struct thread *t = marking(true);
    if (t != NULL)
        put_moment(t, is_marker(name) ? SPECTER_MARK_ITERATION : SPECTER_MARK_MARK, name);
}

EXPORT void specter_iteration(const char *name)
{
    struct thread *t = marking(true);
    if (t != NULL)
        put_moment(t, SPECTER_MARK_ITERATION, name);
}

EXPORT void specter_range_push(const char *name)
{
    mark_push(NULL, name);
}

EXPORT void specter_range_pop(void)
{
    mark_pop(NULL);
}

/* SPDX-License-Identifier: MIT */
#include "plugin.h"

#include "call.h"
#include "clock.h"
#include "comm.h"
#include "device.h"
#include "tracer.h"

#include <stdatomic.h>
#include <string.h>

#define CONTEXTS_MAX 256
#define NOTES_MAX 1024  /* a power of two */
#define EVENTS_MAX 2048 /* a power of two; at most 1 << EVENT_BITS */
#define EVENT_BITS 16
#define EVENT_PROBES 64
#define PATIENCE_NS INT64_C(10000000000) /* for kernels whose end is never told */

#define SEQ_NONE (-1) /* the call failed, or has no number */
#define SEQ_OPEN (-2) /* not numbered yet; of a note: this or less, by its ticket */

/* ---- what NCCL has told of its communicators ---- */

#define CONTEXT_FILLING UINT64_MAX /* id of one whose other fields are being written */

static struct profiler_context {
    _Atomic uint64_t id; /* 0: free; never the same again */
    uint64_t hash;       /* 0: not told */
    int nodes, ranks, rank;
    _Atomic uint64_t member; /* whose it is, as member_key(); 0: not known yet */
} contexts[CONTEXTS_MAX];
static _Atomic uint64_t context_count;
static _Atomic bool active; /* NCCL has taken us as its plugin */

static struct profiler_context *context_of(void *handle)
{
    uintptr_t n = (uintptr_t)handle;
    return n >= 1 && n <= CONTEXTS_MAX ? &contexts[n - 1] : NULL;
}

/* One member of a communicator: a process may hold several. */
static uint64_t member_key(uint64_t comm, int64_t rank)
{
    return comm_hash(&(struct {
        uint64_t comm;
        int64_t rank;
    }){comm, rank},
                     16, 0);
}

static bool is_bound(uint64_t member)
{
    for (int i = 0; i < CONTEXTS_MAX; i++) {
        if (atomic_load_explicit(&contexts[i].member, memory_order_relaxed) == member)
            return true;
    }
    return false;
}

int32_t plugin_nodes(const struct comm_init *init)
{
    if (!atomic_load_explicit(&active, memory_order_acquire) || init->id == 0 ||
        init->nccl_hash == 0)
        return init->nodes;
    for (int i = 0; i < CONTEXTS_MAX; i++) {
        struct profiler_context *x = &contexts[i];
        uint64_t id = atomic_load_explicit(&x->id, memory_order_acquire);
        if (id == 0 || id == CONTEXT_FILLING || x->hash != init->nccl_hash ||
            x->ranks != init->size || x->rank != init->rank)
            continue;
        atomic_store_explicit(&x->member, member_key(init->id, init->rank), memory_order_relaxed);
        return x->nodes;
    }
    return init->nodes;
}

/* ---- notes of calls ---- */

enum note_state { NOTE_FREE, NOTE_FILLING, NOTE_OPEN, NOTE_TAKEN };

static struct launched_op {
    _Atomic uint64_t word; /* ticket << 2 | enum note_state */
    _Atomic uint64_t batch, key, member;
    _Atomic int32_t ranks;
    _Atomic int64_t seq;    /* SEQ_OPEN - ticket: not numbered yet */
    _Atomic uint64_t event; /* handle; 0: none yet */
    struct traced_comm *comm;
    uint64_t comm_id;
    int32_t comm_rank, peer;
    uint8_t op;
} notes[NOTES_MAX];
static _Atomic uint64_t last_ticket, last_batch, unseen_ticket;

/* The launch in progress in the calling thread: its batch (0: nothing) and its first note. */
static __thread struct {
    uint64_t batch, first;
} launch __attribute__((tls_model("initial-exec")));

/* The fields that call and event have in common, by which they are matched. NCCL counts some in
 * bytes. */
struct key_parts {
    uint64_t op, bytes;
    const void *send, *recv;
    int64_t rank, peer; /* root or peer; 0 where there is none */
};

static uint64_t make_key(const struct key_parts *p)
{
    return comm_hash(p, sizeof *p, 0);
}

static bool is_rooted(unsigned op)
{
    return op == SPECTER_BROADCAST || op == SPECTER_REDUCE || op == SPECTER_GATHER ||
           op == SPECTER_SCATTER;
}

static uint64_t key_of_call(const struct call *c)
{
    struct key_parts p = {.op = c->r.op,
                          .bytes = c->r.nccl.count * (specter_dtype_bits(c->r.dtype) / 8),
                          .send = c->send,
                          .recv = c->recv,
                          .rank = c->r.nccl.comm_rank};
    if (specter_comm_op_is_p2p(c->r.op) || is_rooted(c->r.op))
        p.peer = c->r.nccl.peer;
    return make_key(&p);
}

void plugin_unseen(struct call *c)
{
    if (!atomic_load_explicit(&active, memory_order_relaxed))
        return;
    atomic_store_explicit(&unseen_ticket, atomic_load(&last_ticket), memory_order_relaxed);
    if (c->member != NULL && device_is_captured(c->stream))
        atomic_store_explicit(&c->member->captured, true, memory_order_relaxed);
}

static void fill_note(struct launched_op *n, const struct call *c, uint64_t ticket)
{
    atomic_store_explicit(&n->batch, launch.batch, memory_order_relaxed);
    atomic_store_explicit(&n->key, key_of_call(c), memory_order_relaxed);
    atomic_store_explicit(&n->member, member_key(c->r.nccl.comm, c->r.nccl.comm_rank),
                          memory_order_relaxed);
    atomic_store_explicit(&n->ranks, c->r.nccl.comm_size, memory_order_relaxed);
    atomic_store_explicit(&n->seq, SEQ_OPEN - (int64_t)ticket, memory_order_relaxed);
    atomic_store_explicit(&n->event, 0, memory_order_relaxed);
    n->comm = c->member;
    n->comm_id = c->r.nccl.comm;
    n->comm_rank = c->r.nccl.comm_rank;
    n->peer = c->r.nccl.peer;
    n->op = (uint8_t)c->r.op;
}

/* Takes a slot over whose note no thread is changing, whatever state the note is in. */
void plugin_note(struct call *c)
{
    uint64_t ticket, was;
    struct launched_op *n;
    c->note = PLUGIN_NO_NOTE;
    if (!atomic_load_explicit(&active, memory_order_relaxed) || c->member == NULL)
        return;
    if (c->r.timing == SPECTER_TIMING_CAPTURED) {
        atomic_store_explicit(&c->member->captured, true, memory_order_relaxed);
        return;
    }
    if (c->r.nccl.comm == 0 || c->op_place == OP_IN_UNSEEN_GROUP)
        return;
    ticket = atomic_fetch_add(&last_ticket, 1) + 1;
    n = &notes[ticket % NOTES_MAX];
    was = atomic_load(&n->word);
    if ((was & 3) == NOTE_FILLING ||
        !atomic_compare_exchange_strong(&n->word, &was, ticket << 2 | NOTE_FILLING))
        return;
    if (launch.batch == 0) {
        launch.batch = atomic_fetch_add(&last_batch, 1) + 1;
        launch.first = ticket;
    }
    fill_note(n, c, ticket);
    atomic_store_explicit(&n->word, ticket << 2 | NOTE_OPEN, memory_order_release);
    c->note = ticket;
}

/* ---- events ---- */

enum event_state { EVENT_FREE, EVENT_FILLING, EVENT_LIVE };

/* Its handle is generation << (EVENT_BITS + 1) | slot << 1 | 1 for one of its kernels. So it is
 * never an address, and one that is too old is seen to be. */
static struct tracked_event {
    _Atomic uint64_t word; /* generation << 32 | callbacks at it << 2 | enum event_state */
    _Atomic int64_t seq;
    _Atomic uint64_t first_ns, last_ns; /* of its kernels */
    _Atomic uint32_t started, stopped;  /* kernels */
    _Atomic bool issued;                /* NCCL has stopped it, which is when it is on the stream */
    uint64_t comm, context_id;
    int64_t since_ns; /* on the pacing clock */
    struct profiler_context *context;
    int32_t comm_rank, peer;
    uint8_t op, channels; /* channels 0: not known */
    char algo[16], proto[8];
} events[EVENTS_MAX];
static _Atomic uint32_t next_event, live_events;

#define GENERATION(_word) ((_word) >> 32)
#define PIN UINT64_C(4)
#define PINS(_word) ((_word)&0xfffffffc)

static void *handle_of(const struct tracked_event *e, uint64_t generation, bool kernel)
{
    uintptr_t slot = (uintptr_t)(e - events);
    return (void *)((uintptr_t)generation << (EVENT_BITS + 1) | slot << 1 | kernel);
}

static bool is_kernel(const void *handle)
{
    return handle != PLUGIN_OTHER && ((uintptr_t)handle & 1) != 0;
}

/* The event, kept in its slot until unpin_event(); NULL: it is gone, or was never ours. */
static struct tracked_event *pin_event(const void *handle)
{
    uintptr_t h = (uintptr_t)handle, slot = h >> 1 & ((1u << EVENT_BITS) - 1);
    struct tracked_event *e = &events[slot % EVENTS_MAX];
    uint64_t word = atomic_load_explicit(&e->word, memory_order_acquire);
    if (handle == NULL || handle == PLUGIN_OTHER || slot >= EVENTS_MAX)
        return NULL;
    while (GENERATION(word) == h >> (EVENT_BITS + 1) && (word & 3) == EVENT_LIVE) {
        if (atomic_compare_exchange_weak(&e->word, &word, word + PIN))
            return e;
    }
    return NULL;
}

static void unpin_event(struct tracked_event *e)
{
    atomic_fetch_sub_explicit(&e->word, PIN, memory_order_release);
}

/* A free slot, being filled. */
static struct tracked_event *event_alloc(void)
{
    uint32_t n = atomic_fetch_add_explicit(&next_event, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < EVENT_PROBES; i++) {
        struct tracked_event *e = &events[(n + i) % EVENTS_MAX];
        uint64_t word = atomic_load_explicit(&e->word, memory_order_relaxed);
        uint64_t generation = (GENERATION(word) + 1) & UINT32_MAX;
        if ((word & 3) == EVENT_FREE &&
            atomic_compare_exchange_strong(&e->word, &word, generation << 32 | EVENT_FILLING))
            return e;
    }
    atomic_fetch_add_explicit(&tracer.lost, 1, memory_order_relaxed);
    return NULL;
}

/* Takes the event for the writer, so that no callback changes it; false: a callback is at it. */
static bool event_take(struct tracked_event *e, uint64_t word)
{
    return PINS(word) == 0 &&
           atomic_compare_exchange_strong(&e->word, &word, GENERATION(word) << 32 | EVENT_FILLING);
}

static void event_free(struct tracked_event *e)
{
    uint64_t word = atomic_load_explicit(&e->word, memory_order_relaxed);
    atomic_store_explicit(&e->word, GENERATION(word) << 32 | EVENT_FREE, memory_order_release);
    atomic_fetch_sub(&live_events, 1);
}

/* ---- joining both ---- */

static uint64_t key_of_event(const struct plugin_op *w)
{
    struct key_parts p = {.op = w->op,
                          .bytes = w->count * (specter_dtype_bits(w->type) / 8),
                          .send = w->send,
                          .recv = w->recv,
                          .rank = w->rank};
    if (specter_comm_op_is_p2p(w->op) || is_rooted(w->op))
        p.peer = w->peer;
    return make_key(&p);
}

static bool is_of_context(const struct launched_op *n, const struct profiler_context *x,
                          uint64_t key)
{
    uint64_t member = atomic_load_explicit(&n->member, memory_order_relaxed);
    uint64_t bound = atomic_load_explicit(&x->member, memory_order_relaxed);
    int32_t ranks = atomic_load_explicit(&n->ranks, memory_order_relaxed);
    if (atomic_load_explicit(&n->key, memory_order_relaxed) != key)
        return false;
    if (bound != 0)
        return bound == member;
    return (x->ranks == 0 || x->ranks == ranks) && !is_bound(member);
}

/* The only open note from `first` on that fits; of the batch when it is not 0. Its word, or 0. */
static uint64_t find_note(const struct profiler_context *x, uint64_t key, uint64_t first,
                          uint64_t batch)
{
    uint64_t last = atomic_load(&last_ticket), found = 0;
    if (first + NOTES_MAX <= last)
        first = last - NOTES_MAX + 1;
    for (uint64_t ticket = first; ticket <= last; ticket++) {
        const struct launched_op *n = &notes[ticket % NOTES_MAX];
        uint64_t word = atomic_load_explicit(&n->word, memory_order_acquire);
        if (word != (ticket << 2 | NOTE_OPEN) || !is_of_context(n, x, key))
            continue;
        if (batch != 0 && atomic_load_explicit(&n->batch, memory_order_relaxed) != batch)
            continue;
        if (found != 0)
            return 0;
        found = word;
    }
    return found;
}

/* Takes the note of the operation that the event is of; NULL: not certain. */
static struct launched_op *take_note(struct profiler_context *x, const struct plugin_op *w)
{
    uint64_t key = key_of_event(w), word;
    bool here = launch.batch != 0;
    struct launched_op *n;
    if (here)
        word = find_note(x, key, launch.first, launch.batch);
    else if (atomic_load_explicit(&x->member, memory_order_relaxed) != 0)
        word = find_note(x, key, atomic_load(&unseen_ticket) + 1, 0);
    else
        word = 0;
    n = &notes[(word >> 2) % NOTES_MAX];
    if (word == 0 ||
        !atomic_compare_exchange_strong(&n->word, &word, (word & ~3ull) | NOTE_FILLING))
        return NULL;
    if (!here && atomic_load_explicit(&n->comm->captured, memory_order_relaxed)) {
        atomic_store_explicit(&n->word, (word & ~3ull) | NOTE_OPEN, memory_order_release);
        return NULL;
    }
    return n;
}

/* NCCL's hash says which communicator it is. */
static void bind_by_hash(struct profiler_context *x)
{
    struct traced_comm *c = x->hash != 0 ? comm_of_nccl_hash(x->hash, x->rank) : NULL;
    uint64_t none = 0;
    if (c == NULL ||
        !atomic_compare_exchange_strong(&x->member, &none, member_key(c->init.id, c->init.rank)))
        return;
    if (x->nodes > 0)
        comm_set_nodes(c, x->nodes);
}

/* On the thread that uses the communicator, which therefore stays. */
static void bind_comm(struct profiler_context *x, const struct launched_op *n)
{
    uint64_t none = 0, member = atomic_load_explicit(&n->member, memory_order_relaxed);
    if (atomic_compare_exchange_strong(&x->member, &none, member) && x->nodes > 0)
        comm_set_nodes(n->comm, x->nodes);
}

static void copy_word(char *to, size_t size, const char *from)
{
    strncpy(to, from != NULL ? from : "", size - 1);
    to[size - 1] = '\0';
}

static void fill_event(struct tracked_event *e, struct profiler_context *x,
                       const struct launched_op *n, const struct plugin_op *w)
{
    atomic_store_explicit(&e->seq, SEQ_OPEN, memory_order_relaxed);
    atomic_store_explicit(&e->first_ns, UINT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&e->last_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&e->started, 0, memory_order_relaxed);
    atomic_store_explicit(&e->stopped, 0, memory_order_relaxed);
    atomic_store_explicit(&e->issued, false, memory_order_relaxed);
    e->comm = n->comm_id;
    e->comm_rank = n->comm_rank;
    e->context = x;
    e->context_id = atomic_load_explicit(&x->id, memory_order_relaxed);
    e->since_ns = clock_pace_ns();
    e->peer = n->peer;
    e->op = n->op;
    e->channels = w->channels;
    copy_word(e->algo, sizeof e->algo, w->algo);
    copy_word(e->proto, sizeof e->proto, w->proto);
}

static void set_number(struct tracked_event *e, const struct launched_op *n)
{
    int64_t seq = atomic_load(&n->seq);
    if (seq > SEQ_OPEN)
        atomic_store(&e->seq, seq);
}

/* The number goes from the note to the event. Either the call stores it first and it is found here,
 * or the event is there first and the call finds that. */
static void *join_event(struct profiler_context *x, struct launched_op *n,
                        const struct plugin_op *w)
{
    struct tracked_event *e = event_alloc();
    uint64_t ticket = atomic_load_explicit(&n->word, memory_order_relaxed) >> 2, generation;
    void *handle = PLUGIN_OTHER;
    if (e != NULL) {
        generation = GENERATION(atomic_load_explicit(&e->word, memory_order_relaxed));
        fill_event(e, x, n, w);
        handle = handle_of(e, generation, false);
        atomic_fetch_add(&live_events, 1);
        atomic_store(&e->word, generation << 32 | PIN | EVENT_LIVE);
        atomic_store(&n->event, (uintptr_t)handle);
        set_number(e, n);
        unpin_event(e);
    }
    atomic_store_explicit(&n->word, ticket << 2 | NOTE_TAKEN, memory_order_release);
    return handle;
}

void plugin_number(const struct call *c, int64_t seq)
{
    struct launched_op *n = &notes[c->note % NOTES_MAX];
    int64_t open = SEQ_OPEN - (int64_t)c->note;
    struct tracked_event *e;
    if (c->note == PLUGIN_NO_NOTE ||
        !atomic_compare_exchange_strong(&n->seq, &open, seq >= 0 ? seq : SEQ_NONE))
        return;
    e = pin_event((const void *)(uintptr_t)atomic_load(&n->event));
    if (e == NULL)
        return;
    set_number(e, n);
    unpin_event(e);
}

/* The call failed: no event belongs to it, and an event that was assigned is not written. A call
 * that takes the note's slot meanwhile may lose a line by it. */
static void drop_note(uint64_t ticket)
{
    struct launched_op *n = &notes[ticket % NOTES_MAX];
    uint64_t open = ticket << 2 | NOTE_OPEN;
    struct tracked_event *e;
    if (atomic_load_explicit(&n->word, memory_order_acquire) >> 2 != ticket)
        return;
    atomic_compare_exchange_strong(&n->word, &open, ticket << 2 | NOTE_TAKEN);
    atomic_store(&n->seq, SEQ_NONE);
    e = pin_event((const void *)(uintptr_t)atomic_load(&n->event));
    if (e == NULL)
        return;
    atomic_store(&e->seq, SEQ_NONE);
    unpin_event(e);
}

void plugin_drop(const struct call *c)
{
    if (c->note != PLUGIN_NO_NOTE)
        drop_note(c->note);
}

void plugin_launched(bool failed)
{
    uint64_t last = atomic_load(&last_ticket), ticket = launch.first;
    if (ticket + NOTES_MAX <= last)
        ticket = last - NOTES_MAX + 1;
    for (; failed && launch.batch != 0 && ticket <= last; ticket++) {
        if (atomic_load_explicit(&notes[ticket % NOTES_MAX].batch, memory_order_relaxed) ==
            launch.batch)
            drop_note(ticket);
    }
    launch.batch = 0;
}

/* ---- what NCCL tells ---- */

bool plugin_begin(void **context, const struct plugin_comm *told)
{
    int state = atomic_load(&tracer.state);
    *context = NULL;
    for (uintptr_t i = 0; i < CONTEXTS_MAX && state == TRACER_ON; i++) {
        struct profiler_context *x = &contexts[i];
        uint64_t none = 0, id = atomic_fetch_add(&context_count, 1) + 1;
        if (!atomic_compare_exchange_strong(&x->id, &none, CONTEXT_FILLING))
            continue;
        x->hash = told->hash;
        x->nodes = told->nodes;
        x->ranks = told->ranks;
        x->rank = told->rank;
        atomic_store_explicit(&x->member, 0, memory_order_relaxed);
        atomic_store_explicit(&x->id, id, memory_order_release);
        atomic_store_explicit(&active, true, memory_order_release);
        *context = (void *)(i + 1);
        /* Events cost NCCL time, and without records of operations there is nothing to join them
         * to. How many nodes a communicator spans is told all the same. */
        return tracer.config.record_ops && tracer.config.wanted[RECORD_NCCL];
    }
    return false;
}

void *plugin_op_start(void *context, const struct plugin_op *op)
{
    struct profiler_context *x = context_of(context);
    struct launched_op *n;
    if (x == NULL || op->op >= SPECTER_COMM_OP_COUNT)
        return PLUGIN_OTHER;
    if (atomic_load_explicit(&x->member, memory_order_relaxed) == 0)
        bind_by_hash(x);
    n = take_note(x, op);
    if (n == NULL)
        return PLUGIN_OTHER;
    if (launch.batch != 0)
        bind_comm(x, n);
    return join_event(x, n, op);
}

void plugin_op_stop(void *event)
{
    struct tracked_event *e = is_kernel(event) ? NULL : pin_event(event);
    if (e == NULL)
        return;
    atomic_store(&e->issued, true);
    unpin_event(e);
}

void *plugin_kernel_start(void *of, uint64_t time_ns)
{
    uint64_t first;
    struct tracked_event *e = pin_event(of);
    if (e == NULL)
        return PLUGIN_OTHER;
    first = atomic_load_explicit(&e->first_ns, memory_order_relaxed);
    while (time_ns < first && !atomic_compare_exchange_weak(&e->first_ns, &first, time_ns))
        continue;
    atomic_fetch_add(&e->started, 1);
    unpin_event(e);
    return (void *)((uintptr_t)of | 1);
}

void plugin_kernel_stop(void *kernel, uint64_t time_ns)
{
    uint64_t last;
    struct tracked_event *e = is_kernel(kernel) ? pin_event(kernel) : NULL;
    if (e == NULL)
        return;
    last = atomic_load_explicit(&e->last_ns, memory_order_relaxed);
    while (time_ns > last && !atomic_compare_exchange_weak(&e->last_ns, &last, time_ns))
        continue;
    atomic_fetch_add(&e->stopped, 1);
    unpin_event(e);
}

void plugin_end(void *context)
{
    struct profiler_context *x = context_of(context);
    if (x != NULL) {
        atomic_store_explicit(&x->member, 0, memory_order_relaxed);
        atomic_store_explicit(&x->id, 0, memory_order_release);
    }
}

/* ---- the writer ---- */

/* All kernels that were announced have come and gone; without times there are none to wait for. */
static bool is_complete(const struct tracked_event *e)
{
    uint32_t started = atomic_load(&e->started), stopped = atomic_load(&e->stopped);
    if (!atomic_load(&e->issued))
        return false;
    return e->channels == 0 || (stopped >= e->channels && stopped == started);
}

/* NCCL will say nothing more. */
static bool is_over(const struct tracked_event *e, int64_t now_ns)
{
    return atomic_load_explicit(&e->context->id, memory_order_acquire) != e->context_id ||
           now_ns - e->since_ns > PATIENCE_NS;
}

static int64_t kernel_ns(const struct tracked_event *e)
{
    uint64_t first = atomic_load(&e->first_ns), last = atomic_load(&e->last_ns);
    bool known = e->channels > 0 && is_complete(e) && first != 0 && last >= first;
    return known ? (int64_t)(last - first) : NO_TIME;
}

static void write_event(const struct tracked_event *e, void (*write)(const struct plugin_line *l))
{
    int64_t seq = atomic_load(&e->seq);
    if (seq < 0)
        return;
    write(&(struct plugin_line){
        .op = e->op,
        .comm = e->comm,
        .comm_rank = e->comm_rank,
        .seq = seq,
        .peer = e->peer,
        .algo = e->algo[0] != '\0' ? e->algo : NULL,
        .proto = e->proto[0] != '\0' ? e->proto : NULL,
        .channels = e->channels > 0 ? e->channels : UINT64_MAX,
        .kernel_ns = kernel_ns(e),
    });
}

void plugin_visit(void (*write)(const struct plugin_line *l), bool last)
{
    int64_t now_ns = clock_pace_ns();
    if (atomic_load(&live_events) == 0)
        return;
    for (uint32_t i = 0; i < EVENTS_MAX; i++) {
        struct tracked_event *e = &events[i];
        uint64_t word = atomic_load_explicit(&e->word, memory_order_acquire);
        bool done;
        if ((word & 3) != EVENT_LIVE)
            continue;
        done = is_complete(e) && atomic_load(&e->seq) != SEQ_OPEN;
        if ((!done && !last && !is_over(e, now_ns)) || !event_take(e, word))
            continue;
        write_event(e, write);
        event_free(e);
    }
}

void plugin_reset(void)
{
    memset((void *)contexts, 0, sizeof contexts);
    memset((void *)notes, 0, sizeof notes);
    memset((void *)events, 0, sizeof events);
    atomic_store(&live_events, 0);
    atomic_store(&active, false);
    launch.batch = 0;
}

/* SPDX-License-Identifier: MIT
 *
 * See lane.h.
 */
#include "lane.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "core.h"
#include "fabric.h"

#define LOOK_NS 100000000u /* between two looks at a wait */
#define LOOKS 10           /* that in a row find the job idle */

/* The resources that a communication kernel took. */
struct emu_held {
    uint64_t ticket, start, end; /* end: EMU_FOREVER until known */
    unsigned sms;
    bool overtaken;
    bool gemm; /* which takes its share of links, and nothing of what computes */
    struct calendar used;
    struct emu_held *next; /* a later ticket's */
};

struct emu_lane {
    int device;
    struct emu_lane *next; /* of the thread */
    uint64_t tickets;      /* given out */
    uint64_t group, before_group;
    struct emu_place *first, *last;           /* in order of entry */
    struct emu_place *first_turn, *last_turn; /* likewise */
    struct emu_held *held;
};

struct lane_wait {
    uint64_t start, least;
    bool lasts;    /* for more than a look */
    bool given_up; /* by a query, which found the job idle */
    struct lane_wait *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all lanes */
static pthread_cond_t passed = PTHREAD_COND_INITIALIZER;
static const struct emu_stall *stalls;
static struct lane_wait *waits;

struct emu_lane *emu_lane_of(struct emu_thread *self, int device)
{
    struct emu_lane *lane = self->lanes;
    if (self->observer || emu_real_clock() || (!emu_fabric()->contention && !emu_fabric()->overlap))
        return NULL;
    while (lane != NULL && lane->device != device)
        lane = lane->next;
    if (lane == NULL) {
        lane = emu_alloc(sizeof *lane);
        lane->device = device;
        lane->next = self->lanes;
        self->lanes = lane;
    }
    return lane;
}

void emu_lane_group(struct emu_thread *self, bool begins)
{
    self->group = begins ? ++self->groups : 0;
}

/* Before the group for all that is in it. */
static uint64_t seen_by(struct emu_lane *lane, const struct emu_thread *self)
{
    if (self->group && lane->group != self->group) {
        lane->group = self->group;
        lane->before_group = lane->tickets;
    }
    return self->group ? lane->before_group : lane->tickets;
}

static void enter_turns(struct emu_lane *lane, struct emu_place *place)
{
    place->ticket = lane->tickets++;
    place->previous_turn = lane->last_turn;
    *(lane->last_turn != NULL ? &lane->last_turn->next_turn : &lane->first_turn) = place;
    lane->last_turn = place;
}

void emu_lane_enter(struct emu_lane *lane, struct emu_thread *self, uint64_t earliest,
                    enum emu_lane_kind kind, struct emu_place *place)
{
    bool gemms = emu_fabric()->gemm_takes_links > 0;
    *place = (struct emu_place){.lane = lane,
                                .communicates = kind == LANE_COMM,
                                .computes = kind == LANE_GEMM && gemms,
                                .looks_at_gemms = kind == LANE_COMM && gemms};
    if (lane == NULL)
        return;
    pthread_mutex_lock(&lock);
    place->earliest = earliest < self->clock ? earliest : self->clock;
    place->before = seen_by(lane, self);
    place->previous = lane->last;
    *(lane->last != NULL ? &lane->last->next : &lane->first) = place;
    lane->last = place;
    if (place->communicates)
        enter_turns(lane, place);
    pthread_mutex_unlock(&lock);
}

static void pass(struct emu_place *place)
{
    struct emu_lane *lane = place->lane;
    struct emu_place *next = place->next_turn, *previous = place->previous_turn;
    *(previous != NULL ? &previous->next_turn : &lane->first_turn) = next;
    *(next != NULL ? &next->previous_turn : &lane->last_turn) = previous;
    place->communicates = false;
    pthread_cond_broadcast(&passed);
}

void emu_lane_pass(struct emu_place *place)
{
    if (place->lane == NULL)
        return;
    pthread_mutex_lock(&lock);
    if (place->communicates)
        pass(place);
    pthread_mutex_unlock(&lock);
}

/* Forgets kernels that no place can see any more: places still to look begin no sooner than the
 * first, and later launches of the thread no sooner than the last one. */
static void forget_held(struct emu_lane *lane, uint64_t earliest)
{
    for (struct emu_held **at = &lane->held; *at != NULL;) {
        struct emu_held *held = *at;
        if (held->end > earliest) {
            at = &held->next;
            continue;
        }
        *at = held->next;
        free(held);
    }
}

void emu_lane_leave(struct emu_place *place)
{
    struct emu_lane *lane = place->lane;
    if (lane == NULL)
        return;
    pthread_mutex_lock(&lock);
    if (place->communicates)
        pass(place);
    if (place->computes)
        pthread_cond_broadcast(&passed);
    *(place->previous != NULL ? &place->previous->next : &lane->first) = place->next;
    *(place->next != NULL ? &place->next->previous : &lane->last) = place->previous;
    forget_held(lane, lane->first != NULL ? lane->first->earliest : place->earliest);
    place->lane = NULL;
    pthread_mutex_unlock(&lock);
}

static uint64_t first_wait(void)
{
    uint64_t first = 0;
    for (const struct lane_wait *w = waits; w != NULL; w = w->next)
        if (w->lasts && (!first || w->start < first))
            first = w->start;
    return first;
}

/* Drops the lock meanwhile. Whether the job has nothing to run, and this wait is its first. */
static bool look(struct lane_wait *w)
{
    const struct emu_stall *s = stalls;
    uint64_t first;
    bool idle;
    w->lasts = true;
    first = first_wait();
    pthread_mutex_unlock(&lock);
    if (s != NULL)
        s->publish(first);
    idle = s != NULL && first == w->start && s->first(first) && s->idle();
    pthread_mutex_lock(&lock);
    return idle;
}

static bool sleep_shortly(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    return pthread_cond_timedwait(&passed, &lock, &until) != 0;
}

static bool comm_is_over(const struct emu_place *place)
{
    const struct emu_place *first = place->lane->first_turn;
    return first == NULL || first->ticket >= place->before;
}

static bool gemms_are_over(const struct emu_place *place)
{
    const struct emu_place *p = place->looks_at_gemms && !place->overtakes ? place->previous : NULL;
    while (p != NULL && !p->computes)
        p = p->previous;
    return p == NULL;
}

static bool in_turn(const struct emu_place *place)
{
    return comm_is_over(place) && gemms_are_over(place);
}

static bool has_turn(const struct emu_place *place)
{
    bool has;
    pthread_mutex_lock(&lock);
    has = in_turn(place);
    pthread_mutex_unlock(&lock);
    return has;
}

static void end_wait(struct lane_wait *w)
{
    struct lane_wait **at = &waits;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    if (w->lasts && stalls != NULL)
        stalls->publish(first_wait());
}

/* The place goes on without what it waits for. Nor does anybody else wait for that any more, or see
 * it: when it is over depends on the place that went on, so it is not known in time. */
static void overtake(struct emu_place *place)
{
    struct emu_lane *lane = place->lane;
    place->overtakes = true;
    while (!comm_is_over(place)) {
        for (struct emu_held *h = lane->held; h != NULL; h = h->next)
            h->overtaken |= h->ticket == lane->first_turn->ticket;
        pass(lane->first_turn);
    }
}

static bool ends_later(void *argument, uint64_t t)
{
    return ((const struct lane_wait *)argument)->least > t;
}

static bool is_idle(void *argument)
{
    bool idle;
    pthread_mutex_lock(&lock);
    idle = look(argument);
    pthread_mutex_unlock(&lock);
    return idle;
}

static void give_up(void *argument)
{
    pthread_mutex_lock(&lock);
    ((struct lane_wait *)argument)->given_up = true;
    pthread_cond_broadcast(&passed);
    pthread_mutex_unlock(&lock);
}

bool emu_lane_await(struct emu_place *place, uint64_t start, uint64_t least, bool (*ended)(void *),
                    void *argument)
{
    struct lane_wait w = {.start = start, .least = least};
    const struct emu_waiting waiting = {ends_later, is_idle, &w, give_up};
    unsigned idle = 0;
    bool needed = true;
    if (place->lane == NULL || has_turn(place))
        return true;
    emu_set_waiting(&waiting);
    pthread_mutex_lock(&lock);
    w.next = waits;
    waits = &w;
    while (!in_turn(place) && needed && idle < LOOKS && !w.given_up) {
        if (sleep_shortly())
            idle = look(&w) ? idle + 1 : 0;
        needed = ended == NULL || !ended(argument);
    }
    end_wait(&w);
    if (needed && !in_turn(place))
        overtake(place);
    pthread_mutex_unlock(&lock);
    emu_set_waiting(NULL);
    return needed;
}

/* Returns whether a place sees the SMs that a kernel holds from `start` on. A place that has
 * overtaken sees those of overtaken kernels, too: they hold them all the while. */
static bool is_seen(const struct emu_place *place, const struct emu_held *held, uint64_t start)
{
    return !held->gemm && held->ticket < place->before && held->end > start &&
           (place->overtakes || !held->overtaken);
}

/* A GEMM has the ticket of the communication after it. */
static void add_gemm(const struct emu_place *place, const struct emu_held *held, uint64_t start,
                     struct calendar *view)
{
    double begin = (double)(held->start > start ? held->start : start), end = (double)held->end;
    if (!held->gemm || !place->looks_at_gemms || place->overtakes || held->end <= start ||
        held->ticket > place->ticket)
        return;
    for (int port = PORT_NVLINK_OUT; port <= PORT_NIC_IN; port++)
        calendar_add(view, (enum port)port, begin, end,
                     (end - begin) * emu_fabric()->gemm_takes_links);
}

void emu_lane_view(const struct emu_place *place, uint64_t start, struct calendar *view)
{
    calendar_reset(view, start);
    if (place->lane == NULL)
        return;
    pthread_mutex_lock(&lock);
    for (const struct emu_held *h = place->lane->held; h != NULL; h = h->next)
        if (is_seen(place, h, start))
            calendar_merge(view, &h->used, (double)h->end);
    for (const struct emu_held *h = place->lane->held; h != NULL; h = h->next)
        add_gemm(place, h, start, view);
    pthread_mutex_unlock(&lock);
}

unsigned emu_lane_sms(const struct emu_place *place, uint64_t t, uint64_t *next)
{
    unsigned sms = 0;
    *next = EMU_FOREVER;
    if (place->lane == NULL)
        return 0;
    pthread_mutex_lock(&lock);
    for (const struct emu_held *h = place->lane->held; h != NULL; h = h->next) {
        uint64_t change = h->start > t ? h->start : h->end;
        if (!is_seen(place, h, t))
            continue;
        sms += h->start <= t ? h->sms : 0;
        *next = change < *next ? change : *next;
    }
    pthread_mutex_unlock(&lock);
    return sms;
}

/* In order of tickets, so that sums of what is seen do not depend on who came first. */
static void keep(struct emu_lane *lane, struct emu_held *held)
{
    struct emu_held **at = &lane->held;
    while (*at != NULL && (*at)->ticket <= held->ticket)
        at = &(*at)->next;
    held->next = *at;
    *at = held;
}

struct emu_held *emu_lane_begin(const struct emu_place *place, uint64_t start, unsigned sms)
{
    struct emu_held *held;
    if (place->lane == NULL)
        return NULL;
    held = emu_alloc(sizeof *held);
    held->ticket = place->ticket;
    held->start = start;
    held->end = EMU_FOREVER;
    held->sms = sms;
    pthread_mutex_lock(&lock);
    if (place->communicates) {
        keep(place->lane, held);
    } else {
        free(held);
        held = NULL;
    }
    pthread_mutex_unlock(&lock);
    return held;
}

void emu_lane_gemm(const struct emu_place *place, uint64_t start, uint64_t end)
{
    struct emu_held *held;
    if (place->lane == NULL || !place->computes)
        return;
    held = emu_alloc(sizeof *held);
    held->gemm = true;
    held->ticket = place->before;
    held->start = start;
    held->end = end;
    pthread_mutex_lock(&lock);
    keep(place->lane, held);
    pthread_mutex_unlock(&lock);
}

void emu_lane_end(struct emu_held *held, uint64_t end, const struct calendar *used)
{
    if (held == NULL)
        return;
    pthread_mutex_lock(&lock);
    held->end = end;
    if (used != NULL)
        held->used = *used;
    pthread_mutex_unlock(&lock);
}

void emu_lane_stalls(const struct emu_stall *stall)
{
    pthread_mutex_lock(&lock);
    stalls = stall;
    pthread_mutex_unlock(&lock);
}

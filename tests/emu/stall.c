/* SPDX-License-Identifier: MIT
 *
 * See stall.h.
 */
#include "stall.h"

#include <unistd.h>

#include "lane.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ncclComm *comms;

static struct segment_member *self_in(struct ncclComm *comm)
{
    return segment_member(comm->segment, (unsigned)comm->rank);
}

static void publish(uint64_t start)
{
    pthread_mutex_lock(&lock);
    for (struct ncclComm *c = comms; c != NULL; c = c->next)
        atomic_store(&self_in(c)->stalled, start);
    pthread_mutex_unlock(&lock);
}

/* Ties go to the lower rank. */
static bool first_in(struct ncclComm *comm, uint64_t start)
{
    for (int i = 0; i < comm->ranks; i++) {
        struct segment_member *m = segment_member(comm->segment, (unsigned)i);
        uint64_t other = atomic_load(&m->stalled);
        if (m->pid != getpid() && other && (other < start || (other == start && i < comm->rank)))
            return false;
    }
    return true;
}

static bool is_first(uint64_t start)
{
    bool first = true;
    pthread_mutex_lock(&lock);
    for (struct ncclComm *c = comms; c != NULL && first; c = c->next)
        first = first_in(c, start);
    pthread_mutex_unlock(&lock);
    return first;
}

static bool is_idle(void)
{
    bool idle = true;
    pthread_mutex_lock(&lock);
    for (struct ncclComm *c = comms; c != NULL && idle; c = c->next)
        idle = segment_complete(c->segment) && segment_idle(c->segment);
    pthread_mutex_unlock(&lock);
    return idle;
}

void stall_join(struct ncclComm *comm)
{
    static const struct emu_stall stall = {publish, is_first, is_idle};
    pthread_mutex_lock(&lock);
    comm->next = comms;
    comms = comm;
    pthread_mutex_unlock(&lock);
    emu_lane_stalls(&stall);
}

void stall_leave(struct ncclComm *comm)
{
    pthread_mutex_lock(&lock);
    for (struct ncclComm **at = &comms; *at != NULL; at = &(*at)->next)
        if (*at == comm) {
            *at = comm->next;
            break;
        }
    pthread_mutex_unlock(&lock);
}

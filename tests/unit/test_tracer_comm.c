/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../../tracer/comm.h"
#include "../../tracer/tracer.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static ncclComm_t handle_of(uintptr_t n)
{
    return (ncclComm_t)(n * 4096);
}

static struct traced_comm *make_comm(uintptr_t handle, uint64_t id, int64_t size)
{
    struct comm_init b = comm_init_unknown;
    b.id = id;
    b.size = size;
    b.rank = b.device = 0;
    return comm_add(handle_of(handle), &b);
}

static void count_lines(const struct traced_comm *c, void *lines)
{
    (void)c;
    ++*(int *)lines;
}

/* The tracer did not see the first communicator destroyed. */
TEST(tracer_comm_reused_handle_is_the_new_communicator)
{
    int lines = 0;
    comm_reset();
    make_comm(7, 100, 4);
    make_comm(7, 200, 4);
    CHECK_INT(comm_look_up(handle_of(7))->init.id, 200);
    comm_visit_new(count_lines, &lines);
    CHECK_INT(lines, 2);
    CHECK_INT(comm_look_up(handle_of(7))->init.id, 200);
    comm_end(handle_of(7));
    CHECK(comm_look_up(handle_of(7)) == NULL);
    comm_reset();
}

/* A thread may count for a communicator that another one ends: memory stays, numbers start anew. */
TEST(tracer_comm_counts_after_its_end)
{
    int lines = 0;
    struct traced_comm *c, *next;
    comm_reset();
    c = make_comm(7, 100, 4);
    CHECK_INT(comm_next_p2p(c, 3, false, NO_ID), 0);
    CHECK_INT(comm_next_p2p(c, 3, false, NO_ID), 1);
    CHECK_INT(comm_next_p2p(c, 3, true, NO_ID), 0);
    CHECK(comm_is(c, handle_of(7)));
    comm_end(handle_of(7));
    CHECK(!comm_is(c, handle_of(7)));
    comm_visit_new(count_lines, &lines);
    CHECK_INT(comm_next_p2p(c, 2, false, NO_ID), 0);
    next = make_comm(7, 200, 3000);
    CHECK_INT(comm_next_p2p(next, 3, false, NO_ID), 0);
    CHECK_INT(comm_next_p2p(next, 2999, true, NO_ID), 0);
    CHECK_INT(comm_next_p2p(next, 2999, true, NO_ID), 1);
    CHECK_INT(comm_next_p2p(next, 3000, true, NO_ID), -1);
    comm_reset();
}

/* Members of a shrink need not have taken part in other shrinks of the parent, but in all splits.
 */
TEST(tracer_comm_shrinks_count_by_who_is_left_out)
{
    const int last[] = {3}, ends[] = {0, 3}, turned[] = {3, 0};
    uint64_t without_last = comm_hash_ranks(last, 1), without_ends = comm_hash_ranks(ends, 2);
    uint64_t all, few, split, other_split;
    struct traced_comm *one, *two;
    int64_t seq;
    comm_reset();
    one = make_comm(7, 100, 4); /* rank 1, as it sees the parent, ... */
    two = make_comm(8, 100, 4); /* ... and rank 0 */
    CHECK_INT(without_ends, comm_hash_ranks(turned, 2));
    CHECK(without_ends != without_last && comm_hash_ranks(NULL, 0) != 0);
    few = comm_shrink_id(one, without_ends, NO_ID, &seq);
    CHECK_INT(seq, 0);
    all = comm_shrink_id(one, without_last, NO_ID, &seq);
    CHECK_INT(seq, 0);
    CHECK_INT(all, comm_shrink_id(two, without_last, NO_ID, &seq));
    CHECK(all != few);
    CHECK(comm_shrink_id(one, without_last, NO_ID, &seq) != all);
    CHECK_INT(seq, 1);
    split = comm_split_id(one, 0, NO_ID, &seq);
    other_split = comm_split_id(two, 0, NO_ID, &seq);
    CHECK_INT(split, other_split);
    comm_reset();
}

TEST(tracer_comm_shrinks_of_a_failed_group_do_not_count)
{
    uint64_t without_last = comm_hash_ranks(&(int){3}, 1), first;
    struct traced_comm *c;
    int64_t seq;
    comm_reset();
    c = make_comm(7, 100, 4);
    first = comm_shrink_id(c, without_last, 5, &seq);
    CHECK_INT(seq, 0);
    comm_give_back(5);
    CHECK_INT(comm_shrink_id(c, without_last, 6, &seq), first);
    CHECK_INT(seq, 0);
    comm_give_back(5);
    CHECK(comm_shrink_id(c, without_last, NO_ID, &seq) != first);
    CHECK_INT(seq, 1);
    comm_reset();
}

/* No identity rather than one that another member would not come to. */
TEST(tracer_comm_shrinks_without_identity)
{
    struct traced_comm *c, *unknown;
    int64_t seq;
    comm_reset();
    unknown = comm_add(handle_of(9), &comm_init_unknown);
    CHECK_INT(comm_shrink_id(unknown, 1, NO_ID, &seq), 0);
    c = make_comm(7, 100, 64);
    for (int i = 0; i < COMM_SHRINKS_MAX; i++)
        CHECK(comm_shrink_id(c, comm_hash_ranks(&i, 1), NO_ID, &seq) != 0);
    CHECK_INT(comm_shrink_id(c, comm_hash_ranks(&(int){60}, 1), NO_ID, &seq), 0);
    CHECK_INT(seq, COMM_UNKNOWN);
    comm_end(handle_of(7));
    c = make_comm(7, 200, 64);
    CHECK(comm_shrink_id(c, comm_hash_ranks(&(int){60}, 1), NO_ID, &seq) != 0);
    comm_reset();
}

/* The cost of a look-up, in slots that it looks at, whatever the handles' distance. */
TEST(tracer_comm_look_ups_of_thousands)
{
    static const uintptr_t strides[] = {64, 176, 4096, 65536 + 64};
    for (size_t s = 0; s < sizeof strides / sizeof *strides; s++) {
        uint32_t most = 0, sum = 0;
        comm_reset();
        for (uintptr_t i = 1; i <= 5000; i++)
            CHECK(comm_add((ncclComm_t)(i * strides[s]), &comm_init_unknown) != NULL);
        for (uintptr_t i = 1; i <= 5000; i++) {
            uint32_t steps = comm_table_steps((ncclComm_t)(i * strides[s]));
            most = steps > most ? steps : most;
            sum += steps;
        }
        CHECK(most <= 8);
        CHECK(sum <= 2 * 5000);
        CHECK(comm_table_steps((ncclComm_t)(uintptr_t)7) <= 8);
    }
    comm_reset();
}

static int count_room(void)
{
    int n = 0;
    struct traced_comm *c;
    while ((c = comm_table_at((uint32_t)n)) != NULL)
        n++;
    return n;
}

/* The first ones stay as they are; a handle that found no room is not tried again, and slots of
 * communicators that have ended serve others. */
TEST(tracer_comm_beyond_the_room)
{
    int lines = 0;
    struct traced_comm *c;
    comm_reset();
    for (uintptr_t i = 1; i <= COMM_TABLE_MAX; i++)
        CHECK(make_comm(i, i, 4) != NULL);
    CHECK_INT(comm_without_room(), 0);
    CHECK(make_comm(10001, 10001, 4) == NULL);
    CHECK(make_comm(10002, 10002, 4) == NULL);
    CHECK_INT(comm_without_room(), 2);
    CHECK(comm_find(handle_of(10001), NULL) == NULL);
    CHECK(comm_find(handle_of(10003), NULL) == NULL);
    CHECK_INT(comm_without_room(), 2);
    c = comm_find(handle_of(1), NULL);
    CHECK(c != NULL && c->init.id == 1 && comm_next_p2p(c, 1, false, NO_ID) == 0);
    for (uintptr_t i = 1; i <= 100; i++)
        comm_end(handle_of(i));
    comm_visit_new(count_lines, &lines);
    CHECK_INT(lines, COMM_TABLE_MAX);
    CHECK(comm_find(handle_of(10001), NULL) == NULL);
    CHECK(make_comm(10002, 10002, 4) != NULL);
    CHECK(comm_find(handle_of(10002), NULL) != NULL);
    for (uintptr_t i = 101; i <= COMM_TABLE_MAX; i++)
        CHECK(comm_look_up(handle_of(i)) != NULL);
    CHECK_INT(count_room(), COMM_TABLE_MAX);
    comm_reset();
    CHECK_INT(count_room(), 0);
}

/* Many that come and go use few slots. */
TEST(tracer_comm_slots_are_used_again)
{
    int lines = 0;
    comm_reset();
    for (uintptr_t i = 1; i <= 20000; i++) {
        CHECK(make_comm(i, i, 4) != NULL);
        comm_end(handle_of(i));
        if (i % 10 == 0)
            comm_visit_new(count_lines, &lines);
    }
    CHECK_INT(lines, 20000);
    CHECK(count_room() <= 10);
    CHECK_INT(comm_table_steps(handle_of(20000)), 0);
    comm_reset();
}

/* ---- a look-up beside a slot that moves: a page without access stops both threads there
 * ---- */

static struct {
    struct traced_comm *slot;
    ncclComm_t next; /* whose the slot is then */
    pthread_t remover;
    _Atomic bool is_stopped, may_go_on, is_removed;
    bool is_same; /* it was this slot that was taken again */
} moving;

static void protect_slot(int protection)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    mprotect((void *)((uintptr_t)moving.slot & ~(page - 1)), page, protection);
}

static void wait_for(_Atomic bool *flag)
{
    while (!atomic_load(flag))
        sched_yield();
}

/* The remover stops before it takes the slot out of its list. The look-up, which stands on the slot
 * by then, goes on only when that is done and the slot is in another list. */
static void at_slot(int signal)
{
    struct traced_comm *again;
    (void)signal;
    if (pthread_equal(pthread_self(), moving.remover)) {
        atomic_store(&moving.is_stopped, true);
        wait_for(&moving.may_go_on);
        return;
    }
    protect_slot(PROT_READ | PROT_WRITE);
    atomic_store(&moving.may_go_on, true);
    wait_for(&moving.is_removed);
    again = comm_table_take();
    moving.is_same = again == moving.slot;
    comm_table_enter(again, moving.next);
}

static void *remove_slot(void *unused)
{
    (void)unused;
    moving.remover = pthread_self();
    comm_table_remove(moving.slot);
    atomic_store(&moving.is_removed, true);
    atomic_store(&moving.is_stopped, true); /* for good, if nothing has stopped it before */
    return NULL;
}

/* A handle whose list holds so many slots. */
static ncclComm_t handle_in_list_of(uint32_t slots)
{
    uintptr_t n = 1000;
    while (comm_table_steps(handle_of(n)) != slots)
        n++;
    return handle_of(n);
}

TEST(tracer_comm_look_up_on_a_slot_that_moves)
{
    struct sigaction action = {.sa_handler = at_slot}, before;
    struct traced_comm *found, *behind;
    pthread_t thread;
    comm_reset();
    behind = make_comm(7, 100, 4);
    moving.slot = comm_add(handle_in_list_of(1), &comm_init_unknown);
    moving.next = handle_in_list_of(0);
    CHECK_INT(comm_table_steps(handle_of(7)), 2);
    comm_end(atomic_load(&moving.slot->handle));
    sigaction(SIGSEGV, &action, &before);
    protect_slot(PROT_NONE);
    CHECK_INT(pthread_create(&thread, NULL, remove_slot, NULL), 0);
    wait_for(&moving.is_stopped);
    found = comm_look_up(handle_of(7));
    pthread_join(thread, NULL);
    sigaction(SIGSEGV, &before, NULL);
    CHECK(found == behind);
    CHECK(moving.is_same && comm_look_up(moving.next) == moving.slot);
    comm_reset();
}

/* qemu's emulation of a processor has no such call. */
static bool kernel_reads_for_us(void)
{
    int from = 1, to = 0;
    struct iovec local = {&to, sizeof to}, remote = {&from, sizeof from};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof from;
}

/* Creations that wait for the end of a group, and late ones, which are found by what NCCL has
 * written by then. A variable that is gone costs the others nothing. */
TEST(tracer_comm_inits_that_wait)
{
    static ncclComm_t handles[100];
    struct comm_init b = comm_init_unknown;
    struct traced_comm *kept = NULL;
    if (!kernel_reads_for_us())
        SKIP("no process_vm_readv");
    process_begin(getpid());
    comm_reset();
    b.rank = b.size = b.device = 0;
    b.name = "of the program";
    for (int i = 0; i < 100; i++) {
        b.id = (uint64_t)i + 1;
        b.handle = i == 50 ? (ncclComm_t *)8 : &handles[i];
        kept = comm_keep(&b, kept);
    }
    while (kept != NULL) {
        uint64_t id = kept->init.id;
        kept = comm_end_wait(kept, id % 2 == 0 ? handle_of((uintptr_t)id) : NULL, true);
    }
    for (uintptr_t i = 0; i < 100; i++)
        handles[i] = handle_of(i + 1);
    for (uintptr_t i = 1; i <= 100; i++) {
        struct traced_comm *c = comm_find(handle_of(i), NULL);
        CHECK_INT(c->init.id, i == 51 ? 0 : i);
        if (i != 51)
            CHECK_STR(c->init.name, "of the program");
    }
    comm_reset();
}

/* SPDX-License-Identifier: MIT */
#include "made_analysis.h"

#include "trace/api_calls.h"

#define US 1000

/* A copy in [start, end) of a call in [0, call), all in us. */
static void check_copy(const char *name, enum host_memory memory, enum api_call by, int call,
                       int start, int end, enum copy_wait wait, int wait_us)
{
    struct run run;
    struct op *op;
    device_run(&run, 1);
    op = device_op(&run, 0, 1, 0, call * US, start * US, end * US);
    op->class = OP_MEMORY;
    op->name = name;
    op->copy.host = (uint8_t)memory;
    op->copy.by = (uint8_t)by;
    run_finish(&run);
    CHECK_INT(run.ranks[0].ops[0].copy.wait, (int)wait);
    CHECK_INT(run.ranks[0].ops[0].copy.wait_ns, wait_us * US);
    run_release(&run);
}

/* A call that returned no earlier than its copy ended waited for it, if it is one that may; where
 * neither memory nor function is known, if it was long, too. What it took until a copy on an idle
 * stream began was no wait. */
TEST(host_waits_of_copies_to_the_host)
{
    const char *name = "Memcpy DtoH (Device -> Pageable)";
    const enum host_memory unknown = HOST_MEMORY_UNKNOWN, pageable = HOST_MEMORY_PAGEABLE,
                           pinned = HOST_MEMORY_PINNED;
    check_copy(name, pageable, API_COPY_ASYNC, 900, 890, 894, COPY_WAITS, 894);
    check_copy(name, pageable, API_COPY_ASYNC, 8, 3, 5, COPY_WAITS, 2);
    check_copy(name, pageable, API_COPY_ASYNC, 8, 100, 104, COPY_NO_WAIT, 0);
    check_copy(name, pinned, API_COPY_ASYNC, 900, 890, 894, COPY_NO_WAIT, 0);
    check_copy(name, pinned, API_COPY, 900, 890, 894, COPY_WAITS, 894);
    check_copy(name, unknown, API_OTHER, 900, 890, 894, COPY_WAITS, 894);
    check_copy(name, unknown, API_OTHER, 8, 3, 5, COPY_NO_WAIT, 0);
    check_copy("d2h", unknown, API_OTHER, 900, 890, 894, COPY_WAITS, 894);
    check_copy("CopyDeviceToHost", unknown, API_OTHER, 900, 890, 894, COPY_WAITS, 894);
}

TEST(host_waits_of_other_copies)
{
    const enum host_memory unknown = HOST_MEMORY_UNKNOWN, pageable = HOST_MEMORY_PAGEABLE,
                           pinned = HOST_MEMORY_PINNED;
    check_copy("h2d", unknown, API_OTHER, 900, 100, 894, COPY_WAITS, 894);
    check_copy("h2d", pageable, API_COPY_ASYNC, 8, 3, 5, COPY_NO_WAIT, 0);
    check_copy("h2d", pageable, API_COPY, 60, 10, 80, COPY_NO_WAIT, 0);
    check_copy("h2d", pinned, API_COPY, 8, 3, 5, COPY_WAITS, 2);
    check_copy("d2d", unknown, API_COPY_ASYNC, 900, 100, 894, COPY_NO_WAIT, 0);
    check_copy("d2d", unknown, API_COPY, 900, 100, 894, COPY_WAITS, 894);
}

/* Data that is staged: the call waited for what the stream had to do, not for its own copy. */
TEST(host_waits_for_what_was_before)
{
    struct run run;
    struct op *op;
    device_run(&run, 1);
    device_op(&run, 0, 1, 0, 5 * US, 6 * US, 300 * US);
    op = device_op(&run, 0, 1, 10 * US, 340 * US, 302 * US, 360 * US);
    op->class = OP_MEMORY;
    op->name = "Memcpy HtoD (Pageable -> Device)";
    op->copy.host = HOST_MEMORY_PAGEABLE;
    op->copy.by = API_COPY;
    run_finish(&run);
    op = &run.ranks[0].ops[1];
    CHECK_INT(op->copy.wait, COPY_WAITS_BEFORE);
    CHECK_INT(op->copy.wait_ns, 290 * US);
    run_release(&run);
}

/* A call that frees or allocates memory waited for a device that became idle within it, but not for
 * work that goes on after it; with no work under way it takes its own time. */
TEST(host_waits_of_allocations)
{
    struct run run;
    device_run(&run, 1);
    device_op(&run, 0, 1, 0, 5 * US, 6 * US, 300 * US);
    device_sync_call(&run, 0, SYNC_CALL_FREE, -1, -1, 10 * US, 330 * US);
    device_sync_call(&run, 0, SYNC_CALL_ALLOC, -1, -1, 340 * US, 640 * US);
    device_op(&run, 0, 1, 650 * US, 655 * US, 660 * US, 900 * US);
    device_sync_call(&run, 0, SYNC_CALL_ALLOC, -1, -1, 660 * US, 680 * US);
    run_finish(&run);
    CHECK_INT(run.ranks[0].sync_calls[0].wait_ns, 290 * US);
    CHECK_INT(run.ranks[0].sync_calls[1].wait_ns, 0);
    CHECK_INT(run.ranks[0].sync_calls[2].wait_ns, 0);
    CHECK(sync_call_waits(&run.ranks[0].sync_calls[0]));
    CHECK(!sync_call_waits(&run.ranks[0].sync_calls[1]));
    run_release(&run);
}

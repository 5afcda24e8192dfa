/* SPDX-License-Identifier: MIT */
#include "trace/comm_order.h"

#include "made_device.h"
#include "test.h"
#include "trace/match.h"
#include "trace_load.h"

#include <string.h>

/* Ranks whose collectives are given as sizes, "abca": one letter each, in order, numbered so. They
 * last 10 and begin at 100 times their place, or where `times` says: 'a' is the first place. */
static void made_orders(struct run *run, const char *const *sizes, const char *const *times, int n)
{
    device_run(run, n);
    run_comm(run, "w", 1, n);
    for (int r = 0; r < n; r++) {
        struct rank *rank = &run->ranks[r];
        rank->host = "h";
        rank->mono_ns = rank->real_ns = times != NULL ? 0 : UNKNOWN_NS;
        for (int i = 0; sizes[r][i] != '\0'; i++) {
            int64_t start_ns = 100 * (times != NULL ? times[r][i] - 'a' : i);
            uint64_t bytes = (uint64_t)(sizes[r][i] - 'a' + 1) * 1024;
            struct op *op = device_op(run, r, -1, UNKNOWN_NS, UNKNOWN_NS, start_ns, start_ns + 10);
            device_coll(op, SPECTER_ALLREDUCE, 0, i, bytes);
        }
    }
}

/* The numbers of a rank as letters, '-' for one that no other rank has. */
static const char *numbers(const struct run *run, size_t rank)
{
    static char text[64];
    size_t n = run->ranks[rank].nops;
    for (size_t i = 0; i < n; i++) {
        int64_t seq = run->ranks[rank].ops[i].coll.seq;
        bool alone = true;
        for (size_t r = 0; r < run->nranks; r++) {
            for (size_t k = 0; r != rank && k < run->ranks[r].nops; k++)
                alone &= run->ranks[r].ops[k].coll.seq != seq;
        }
        text[i] = alone ? '-' : (char)('a' + seq);
    }
    text[n] = '\0';
    return text;
}

static void resync(struct run *run)
{
    order_resync(run, (const bool[]){true});
}

TEST(resync_orders_that_agree)
{
    struct run run;
    made_orders(&run, (const char *const[]){"abc", "abc"}, NULL, 2);
    resync(&run);
    CHECK_STR(numbers(&run, 1), "abc");
    CHECK_STR(all_notes(&run), "");
    run_release(&run);
}

/* Rank 1 leaves out the third, rank 2 has one more after the second. */
TEST(resync_left_out_and_added)
{
    struct run run;
    struct matches m;
    made_orders(&run, (const char *const[]){"abcdefgh", "abdefgh", "abxcdefgh", "abcdefgh"}, NULL,
                4);
    resync(&run);
    CHECK_STR(numbers(&run, 0), "abcdefgh");
    CHECK_STR(numbers(&run, 1), "abdefgh");
    CHECK_STR(numbers(&run, 2), "ab-cdefgh");
    CHECK_STR(all_notes(&run),
              "collectives are matched by order, and 2 ranks differ from the others: 1 left out, 1 "
              "more, from collective 3 on of 'w' of rank 1; what follows is matched where it fits "
              "again\n");
    matches_init(&m, &run);
    CHECK_INT((int64_t)m.inconsistent, 0);
    CHECK_INT((int64_t)m.incomplete, 2);
    matches_release(&m);
    run_release(&run);
}

/* All alike: where one is missing can be seen from the clock only. */
TEST(resync_by_the_clock)
{
    static const char *const sizes[] = {"aaaaaaaa", "aaaaaaa", "aaaaaaaa"};
    struct run run;
    made_orders(&run, sizes, (const char *const[]){"abcdefgh", "abdefgh", "abcdefgh"}, 3);
    resync(&run);
    CHECK_STR(numbers(&run, 1), "abdefgh");
    CHECK_HAS(all_notes(&run), "1 left out, 0 more, from collective 3 on");
    run_release(&run);
    made_orders(&run, sizes, NULL, 3); /* no clock: the last is missing, as far as one can see */
    resync(&run);
    CHECK_STR(numbers(&run, 1), "abcdefg");
    CHECK_HAS(all_notes(&run), "1 left out, 0 more, from collective 8 on");
    run_release(&run);
}

/* Each rank holds others of twelve collectives: those that run at the same time and agree in size
 * are the same, of any two ranks. */
TEST(resync_of_what_each_rank_sampled)
{
    struct run run;
    made_orders(&run, (const char *const[]){"aaaaaaaa", "aaaaaaaa"},
                (const char *const[]){"acdghkmn", "bcegikln"}, 2);
    resync(&run);
    CHECK_STR(numbers(&run, 0), "-c-f-i-l");
    CHECK_STR(numbers(&run, 1), "-c-f-i-l");
    CHECK_HAS(all_notes(&run), "at the same time are taken to be the same");
    run_release(&run);
    made_orders(&run, (const char *const[]){"aaaaaaaa", "aaaaaaaa", "aaaaaa"},
                (const char *const[]){"acdghkmn", "bcegikln", "bcegmn"}, 3);
    resync(&run);
    CHECK_STR(numbers(&run, 0), "-c-f-ikl");
    CHECK_STR(numbers(&run, 1), "bcef-i-l");
    CHECK_STR(numbers(&run, 2), "bcefkl");
    run_release(&run);
    made_orders(&run, (const char *const[]){"abaaaaaa", "aaaaaaaa"}, /* another size: another one */
                (const char *const[]){"acdghkmn", "bcegikln"}, 2);
    resync(&run);
    CHECK_STR(numbers(&run, 0), "---g-j-m");
    run_release(&run);
}

/* A window that begins and ends two later. */
TEST(resync_of_a_later_window)
{
    struct run run;
    made_orders(&run, (const char *const[]){"abcdefgh", "cdefghij", "abcdefgh"}, NULL, 3);
    resync(&run);
    CHECK_STR(numbers(&run, 1), "cdefgh--");
    run_release(&run);
}

TEST(resync_what_never_fits)
{
    struct run run;
    made_orders(&run, (const char *const[]){"abcdefgh", "abzyxwvu", "abcdefgh"}, NULL, 3);
    resync(&run);
    CHECK_STR(numbers(&run, 1), "abcdefgh"); /* by order, as they were */
    CHECK_HAS(all_notes(&run), "does not fit, so that the match may be wrong");
    run_release(&run);
}

TEST(resync_leaves_numbers_that_are_recorded)
{
    struct run run;
    made_orders(&run, (const char *const[]){"abcd", "acd"}, NULL, 2);
    order_resync(&run, (const bool[]){false});
    CHECK_STR(numbers(&run, 1), "abc");
    CHECK_STR(all_notes(&run), "");
    run_release(&run);
}

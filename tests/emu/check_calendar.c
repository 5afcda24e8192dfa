/* SPDX-License-Identifier: MIT
 *
 * Calendars by hand, and laws of many random ones: what passes is what was asked for, no port is
 * busier than all the time, and no free time is left while something waits.
 */
#include "calendar.h"

#include <math.h>
#include <stdbool.h>

#include "check.h"
#include "hash.h"

#define ORIGIN 1000000u
#define ALL ((double)CALENDAR_BINS)

static struct calendar used, others;

static double pass(double t, double work)
{
    return calendar_pass(
        &(struct calendar_path){.port = {PORT_NIC_OUT, PORT_NIC_IN}, .busy = {&used, &others}}, t,
        work);
}

static double sum(const struct calendar *c, enum port port)
{
    double all = 0;
    for (unsigned i = 0; c->bin && i < CALENDAR_BINS; i++)
        all += (double)c->busy[port][i];
    return all;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-5 * fmax(1, fabs(b));
}

static void by_hand(void)
{
    calendar_reset(&used, ORIGIN);
    calendar_reset(&others, ORIGIN);
    CHECK(pass(ORIGIN, 500), ORIGIN + 500); /* empty */
    calendar_add(&used, PORT_NIC_OUT, ORIGIN + 512, ORIGIN + 1024, 512);
    CHECK(pass(ORIGIN, 512), ORIGIN + 512);
    CHECK(pass(ORIGIN, 513), ORIGIN + 1025); /* stops while it is taken */
    CHECK(pass(ORIGIN + 600, 10), ORIGIN + 1034);
    CHECK(pass(ORIGIN - 100, 700), ORIGIN + 1112); /* free before it begins */
    calendar_add(&others, PORT_NIC_IN, ORIGIN + 1024, ORIGIN + 1536, 256);
    CHECK(pass(ORIGIN + 512, 256), ORIGIN + 1536); /* half of the other end */
}

/* Bins double until all is in; what was there is kept. */
static void grows(void)
{
    struct calendar view;
    calendar_reset(&used, ORIGIN);
    for (int i = 0; i < 1000; i++)
        calendar_add(&used, PORT_MEMORY, ORIGIN + i * 1000.0, ORIGIN + i * 1000.0 + 700, 350);
    CHECK(near(sum(&used, PORT_MEMORY), 350e3), 1);
    CHECK((double)used.bin * ALL >= 1e6 && (double)used.bin * ALL < 2e6 + 1, 1);
    calendar_reset(&view, ORIGIN + 500000);
    calendar_merge(&view, &used, ORIGIN + 999700);
    CHECK(fabs(sum(&view, PORT_MEMORY) - 175e3) < 0.01 * 175e3, 1);
}

/* Each next one gets what those before left, as operations of a lane do. */
static void random_use(uint64_t seed)
{
    double total = 0, first = INFINITY, last = 0;
    calendar_reset(&used, ORIGIN);
    calendar_reset(&others, ORIGIN);
    for (uint64_t i = 0; i < 200; i++) {
        double t = ORIGIN + floor(1e6 * emu_unit(emu_hash(seed, i)));
        double work = 1 + floor(2e4 * emu_unit(emu_hash(seed + 1, i)));
        struct calendar mine;
        double end;
        calendar_reset(&mine, ORIGIN);
        end = calendar_pass(&(struct calendar_path){.port = {PORT_NIC_OUT, PORT_NIC_IN},
                                                    .busy = {&used, NULL},
                                                    .used = {&mine, NULL}},
                            t, work);

        CHECK(end >= t + work, 1);
        calendar_merge(&used, &mine, INFINITY);
        total += work;
        first = fmin(first, t);
        last = fmax(last, end);
    }
    CHECK(near(sum(&used, PORT_NIC_OUT), total), 1);
    CHECK(last - first + (double)used.bin >= total, 1); /* within a bin, use is spread */
    for (unsigned i = 0; i < CALENDAR_BINS; i++)
        CHECK((double)used.busy[PORT_NIC_OUT][i] <= 1.02 * (double)used.bin, 1);
}

int main(void)
{
    by_hand();
    grows();
    for (uint64_t seed = 0; seed < 100; seed++)
        random_use(seed);
    puts("calendars hold");
    return 0;
}

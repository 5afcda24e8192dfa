/* SPDX-License-Identifier: MIT
 *
 *     facts [--no-device] [PATTERN...]     name, tab, answer: a line for each fact
 *     facts --costs                        likewise, nanoseconds of each call
 *     facts --list                         name, tab, what it needs, tab, question
 *
 * A pattern is the beginning of a name. --no-device leaves out what needs a GPU. Libraries are
 * found by LD_LIBRARY_PATH.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "facts.h"

#define PATIENCE_S 20

static const struct subject *const subjects[] = {&errors,  &arguments, &contexts, &events,
                                                 &streams, &captures,  &graphs,   &products,
                                                 &groups,  &pairs};

int asked_number;
struct pair pair;

/* Shared memory in which a process that asks questions reports to the one that waits for it. */
static struct progress {
    unsigned at; /* row of the table */
    int number;
    bool answered;
    char answer[512]; /* one line */
    atomic_uint met;  /* arrivals of both ranks */
    char area[4096];
} * progress;

static const char *const need_names[] = {"nothing", "a GPU", "two ranks on one GPU"};

/* ---- answers ---- */

static void print_line(const struct subject *subject, const struct fact *fact)
{
    printf("%s.%s", subject->name, fact->name);
    if (fact->first || fact->last)
        printf(".%d", progress->number);
    printf("\t%s\n", progress->answer);
    fflush(stdout);
}

static const struct subject *asking;

void answer(const char *fmt, ...)
{
    va_list ap;

    if (pair.rank || progress->answered)
        return;
    va_start(ap, fmt);
    vsnprintf(progress->answer, sizeof(progress->answer), fmt, ap);
    va_end(ap);
    for (char *c = progress->answer; *c; c++)
        *c = *c == '\n' || *c == '\t' ? ' ' : *c;
    progress->answered = true;
    print_line(asking, &asking->facts[progress->at]);
}

void pair_meet(void)
{
    unsigned mine = atomic_fetch_add(&progress->met, 1);

    while (atomic_load(&progress->met) < (mine | 1) + 1)
        usleep(100);
}

/* ---- asking ---- */

static void ask_one(const struct fact *fact, int number)
{
    if (!pair.rank) {
        progress->number = asked_number = number;
        progress->answered = false;
    }
    alarm(PATIENCE_S);
    fact->ask();
    if (!fact->first && !fact->last)
        answer("no answer");
}

static void ask_row(unsigned row)
{
    const struct fact *fact = &asking->facts[row];

    if (!pair.rank)
        progress->at = row;
    for (int n = fact->first; n <= fact->last; n++)
        ask_one(fact, n);
}

static bool named(const struct subject *subject, const struct fact *fact, char **patterns)
{
    char name[256];

    snprintf(name, sizeof(name), "%s.%s", subject->name, fact->name);
    for (char **p = patterns; *p; p++)
        if (strncmp(name, *p, strlen(*p)) == 0)
            return true;
    return !*patterns;
}

/* Returns how many rows from `row` on share a process: those in a row with the same needs; 1 where
 * the row needs a process of its own. */
static unsigned together(const struct subject *subject, unsigned row)
{
    unsigned count = 1;

    if (subject->facts[row].needs & ALONE)
        return 1;
    while (row + count < subject->count &&
           subject->facts[row + count].needs == subject->facts[row].needs)
        count++;
    return count;
}

struct batch {
    const struct subject *subject;
    unsigned row, end;
    char **patterns;
    int needs;
};

static void set_rank(int rank)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", rank);
    setenv("RANK", text, 1);
    setenv("WORLD_SIZE", "2", 1);
    snprintf(text, sizeof(text), "rank%d", rank);
    setenv("NCCL_HOSTID", text, 1);
    setenv("NCCL_NET", "Socket", 1);
    setenv("NCCL_IB_DISABLE", "1", 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 1);
    setenv("NCCL_MAX_NCHANNELS", "2", 1);
}

static void ask_batch(const struct batch *b, int rank)
{
    pair.rank = rank;
    pair.area = progress->area;
    asking = b->subject;
    if (b->needs == RANKS)
        set_rank(rank);
    libraries_open();
    for (unsigned row = b->row; row < b->end; row++) {
        if (!named(b->subject, &b->subject->facts[row], b->patterns))
            continue;
        if (b->needs == RANKS) {
            pair_meet();
            if (!rank)
                memset(progress->area, 0, sizeof(progress->area));
            pair_meet();
        }
        ask_row(row);
    }
    _exit(0);
}

/* The process that asked ended in another way than by having asked all. */
static void told_by_death(const struct batch *b, int status)
{
    asking = b->subject;
    progress->answered = progress->answered && WIFEXITED(status);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        answer("no answer within %d s", PATIENCE_S);
    else if (WIFSIGNALED(status))
        answer("ends the process: %s", strsignal(WTERMSIG(status)));
    else
        answer("ends the process: status %d", WEXITSTATUS(status));
}

/* Returns the row to go on with. */
static unsigned run_batch(const struct batch *b)
{
    int status = 0, count = b->needs == RANKS ? 2 : 1;
    pid_t children[2];

    progress->at = b->row - 1;
    atomic_store(&progress->met, 0);
    fflush(stdout);
    for (int rank = 0; rank < count; rank++) {
        children[rank] = fork();
        if (children[rank] == 0)
            ask_batch(b, rank);
    }
    waitpid(children[0], &status, 0);
    if (count == 2) {
        if (status || progress->at + 1 != b->end)
            kill(children[1], SIGKILL);
        waitpid(children[1], NULL, 0);
    }
    if (status == 0 && (progress->at + 1 == b->end || !progress->answered))
        return b->end;
    if (status || !progress->answered)
        told_by_death(b, status);
    return progress->at + 1;
}

static void run_subject(const struct subject *subject, int most, char **patterns)
{
    for (unsigned row = 0; row < subject->count;) {
        int needs = subject->facts[row].needs & NEED_MASK;
        struct batch b = {subject, row, row + together(subject, row), patterns, needs};

        if (needs > most || !named(subject, &subject->facts[row], patterns)) {
            row++;
            continue;
        }
        row = run_batch(&b);
    }
}

static void list(void)
{
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++)
        for (unsigned j = 0; j < subjects[i]->count; j++) {
            const struct fact *f = &subjects[i]->facts[j];

            printf("%s.%s\t%s\t%s\n", subjects[i]->name, f->name, need_names[f->needs & NEED_MASK],
                   f->question);
        }
}

int main(int argc, char **argv)
{
    int most = RANKS;
    bool only_costs = false;

    for (argv++; --argc && argv[0][0] == '-'; argv++) {
        if (strcmp(*argv, "--list") == 0) {
            list();
            return 0;
        }
        if (strcmp(*argv, "--no-device") == 0) {
            most = NOTHING;
        } else if (strcmp(*argv, "--costs") == 0) {
            only_costs = true;
        } else {
            fprintf(stderr, "facts: unknown option '%s'\n", *argv);
            return 2;
        }
    }
    progress =
        mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED) {
        perror("facts");
        return 1;
    }
    if (only_costs) {
        run_subject(&costs, most, argv);
        return 0;
    }
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++)
        run_subject(subjects[i], most, argv);
    return 0;
}

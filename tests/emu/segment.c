/* SPDX-License-Identifier: MIT
 *
 * Layout: head, members, slots, asks, splits, channels, then the places for bytes, which take
 * memory only where they are touched.
 */
#include "segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core.h"

struct segment_head {
    _Atomic uint32_t opened;  /* members that have the segment mapped */
    _Atomic uint32_t members; /* that have come; rung at each */
    _Atomic uint32_t splits;  /* rung at each arrival at a split */
    struct arrival_slot slots[2];
};

struct segment {
    char *base;
    size_t size;
    char path[4096];
    unsigned ranks, rank;
    size_t head, message_head;
    size_t asks, splits, channels, posts, results, messages; /* offsets */
};

static size_t aligned(size_t n)
{
    return (n + 4095) & ~(size_t)4095;
}

static void lay_out(struct segment *s)
{
    size_t n = s->ranks;
    s->asks = aligned(sizeof(struct segment_head)) + aligned(n * sizeof(struct segment_member));
    s->splits = s->asks + aligned(2 * n * sizeof(struct ask));
    s->channels = s->splits + aligned(SEGMENT_SPLITS * n * sizeof(struct split));
    s->posts = s->channels + aligned(n * n * sizeof(struct channel));
    s->results = s->posts + 2 * n * s->head;
    s->messages = s->results + 2 * s->head;
    s->size = aligned(s->messages + n * n * 2 * s->message_head);
}

struct segment *segment_open(const char *path, unsigned ranks, unsigned rank, size_t head,
                             size_t message_head)
{
    struct segment *s = emu_alloc(sizeof *s);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    s->ranks = ranks;
    s->rank = rank;
    s->head = head;
    s->message_head = message_head;
    snprintf(s->path, sizeof s->path, "%s", path);
    lay_out(s);
    s->base = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)s->size) == 0)
        s->base = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (s->base != MAP_FAILED)
        return s;
    free(s);
    return NULL;
}

void segment_close(struct segment *s)
{
    if (s == NULL)
        return;
    munmap(s->base, s->size);
    free(s);
}

static struct segment_head *head_of(const struct segment *s)
{
    return (struct segment_head *)(void *)s->base;
}

void segment_arrive(struct segment *s, uint64_t clock, uint64_t host, unsigned bus, unsigned gpu)
{
    struct segment_member *m = segment_member(s, s->rank);
    m->pid = getpid();
    m->host = host;
    m->bus = bus;
    m->gpu = gpu;
    m->init_clock = clock;
    atomic_store(&m->clock, clock);
    atomic_store(&m->here, 1);
    /* Before anybody can see that all have come: a process may then end at once. */
    if (atomic_fetch_add(&head_of(s)->opened, 1) + 1 == s->ranks)
        unlink(s->path);
    atomic_fetch_add(&head_of(s)->members, 1);
    segment_wake(&head_of(s)->members);
}

bool segment_complete(const struct segment *s)
{
    return atomic_load(&head_of(s)->members) >= s->ranks;
}

unsigned segment_node(struct segment *s, unsigned rank)
{
    unsigned first = 0;
    while (segment_member(s, first)->host != segment_member(s, rank)->host)
        first++;
    return first;
}

int segment_beside(struct segment *s)
{
    const struct segment_member *own = segment_member(s, s->rank);
    for (unsigned i = 0; i < s->ranks; i++) {
        const struct segment_member *m = segment_member(s, i);
        if (i != s->rank && m->host == own->host && m->bus == own->bus)
            return (int)i;
    }
    return -1;
}

unsigned segment_ranks(const struct segment *s)
{
    return s->ranks;
}

unsigned segment_rank(const struct segment *s)
{
    return s->rank;
}

size_t segment_head(const struct segment *s)
{
    return s->head;
}

size_t segment_message_head(const struct segment *s)
{
    return s->message_head;
}

struct segment_member *segment_member(struct segment *s, unsigned rank)
{
    return (struct segment_member *)(void *)(s->base + aligned(sizeof(struct segment_head))) + rank;
}

struct arrival_slot *segment_slot(struct segment *s, uint64_t number)
{
    return &head_of(s)->slots[number % 2];
}

struct ask *segment_ask(struct segment *s, uint64_t number, unsigned rank)
{
    return (struct ask *)(void *)(s->base + s->asks) + number % 2 * s->ranks + rank;
}

char *segment_post(struct segment *s, uint64_t number, unsigned rank)
{
    return s->base + s->posts + (number % 2 * s->ranks + rank) * s->head;
}

char *segment_result(struct segment *s, uint64_t number)
{
    return s->base + s->results + number % 2 * s->head;
}

struct split *segment_split(struct segment *s, uint64_t number, unsigned rank)
{
    return (struct split *)(void *)(s->base + s->splits) + number % SEGMENT_SPLITS * s->ranks +
           rank;
}

_Atomic uint32_t *segment_split_bell(struct segment *s)
{
    return &head_of(s)->splits;
}

_Atomic uint32_t *segment_member_bell(struct segment *s)
{
    return &head_of(s)->members;
}

struct channel *segment_channel(struct segment *s, unsigned from, unsigned to)
{
    return (struct channel *)(void *)(s->base + s->channels) + (size_t)from * s->ranks + to;
}

char *segment_message(struct segment *s, unsigned from, unsigned to, uint32_t number)
{
    return s->base + s->messages +
           (((size_t)from * s->ranks + to) * 2 + number % 2) * s->message_head;
}

void segment_sleep(_Atomic uint32_t *word, uint32_t seen)
{
    struct timespec second = {1, 0};
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &second, NULL, 0);
}

void segment_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* The state letter of a process or thread by /proc; 0 when there is none, 'R' when it cannot be
 * told. */
static char state_of(const char *path)
{
    char text[512], *state;
    ssize_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : 'R';
    len = read(fd, text, sizeof text - 1);
    close(fd);
    if (len <= 0)
        return 0;
    text[len] = '\0';
    state = strrchr(text, ')');
    return state != NULL && state[1] ? state[2] : 'R';
}

/* A process that has ended but was not waited for is gone as well, so kill(pid, 0) will not do. */
static bool process_ended(pid_t pid)
{
    char path[64], state;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    state = state_of(path);
    return !state || state == 'Z' || state == 'X';
}

static bool process_idle(pid_t pid, pid_t except)
{
    char path[320];
    struct dirent *entry;
    bool idle = true;
    DIR *tasks;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    while (tasks != NULL && idle && (entry = readdir(tasks)) != NULL) {
        if (entry->d_name[0] == '.' || strtol(entry->d_name, NULL, 10) == except)
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/stat", (int)pid, entry->d_name);
        idle = state_of(path) != 'R' && state_of(path) != 'D';
    }
    if (tasks != NULL)
        closedir(tasks);
    return idle;
}

bool segment_idle(struct segment *s)
{
    pid_t self = (pid_t)syscall(SYS_gettid);
    for (unsigned i = 0; i < s->ranks; i++)
        if (!process_idle(segment_member(s, i)->pid, self))
            return false;
    return true;
}

bool segment_gone(struct segment *s, unsigned rank)
{
    const struct segment_member *m = segment_member(s, rank);
    return atomic_load(&m->here) && process_ended(m->pid);
}

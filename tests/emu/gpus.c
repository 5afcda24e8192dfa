/* SPDX-License-Identifier: MIT
 *
 * See gpus.h.
 */
#include "gpus.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core.h"
#include "emu.h"
#include "engine.h"
#include "fabric.h"
#include "memory.h"

#define GPUS_MAX 1024
#define PROCESSES_MAX 16
#define LOOK_EVERY 64                       /* launches between two looks for the file */
#define CONTEXT_BYTES ((uint64_t)512 << 20) /* what a context takes beside what is allocated */

/* One process's report on one GPU. `turn` is odd while it writes. */
struct process_slot {
    _Atomic int32_t pid;
    atomic_uint turn;
    _Atomic uint64_t clock, bytes;
    struct emu_heat heat;
};

struct shared_gpu {
    atomic_uint lock_MHz;
    struct process_slot slots[PROCESSES_MAX];
};

static struct shared_gpu *_Atomic gpus; /* of all; NULL until the first question */
static struct process_slot *_Atomic own[EMU_DEVICES_MAX];
static atomic_uint owned; /* devices below this may have one */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the file ---- */

static void *map_file(const char *path, bool make)
{
    const size_t size = GPUS_MAX * sizeof(struct shared_gpu);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (make ? O_CREAT : 0), 0600);
    void *mapped = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return mapped;
}

static void open_file(bool make)
{
    const char *dir = secure_getenv("EMU_DIR");
    void *mapped = MAP_FAILED;
    char path[4096];
    pthread_mutex_lock(&lock);
    if (!atomic_load(&gpus)) {
        snprintf(path, sizeof path, "%s/gpus", dir != NULL ? dir : "");
        if (dir != NULL && *dir)
            mapped = map_file(path, make);
        if (mapped == MAP_FAILED && make)
            mapped = mmap(NULL, GPUS_MAX * sizeof(struct shared_gpu), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped != MAP_FAILED)
            atomic_store(&gpus, mapped);
    }
    pthread_mutex_unlock(&lock);
    for (int i = 0; atomic_load(&gpus) && i < emu_device_count(); i++)
        if (emu_context_active(i))
            emu_gpus_enter(i);
}

void emu_gpus_open(void)
{
    open_file(true);
}

bool emu_gpus_shared(void)
{
    static atomic_uint looks;
    if (!atomic_load_explicit(&gpus, memory_order_acquire) &&
        atomic_fetch_add(&looks, 1) % LOOK_EVERY == 0)
        open_file(false);
    return atomic_load_explicit(&gpus, memory_order_acquire) != NULL;
}

static struct shared_gpu *gpu_of(unsigned number)
{
    struct shared_gpu *all = atomic_load(&gpus);
    return all != NULL && number < GPUS_MAX ? &all[number] : NULL;
}

/* ---- clocks ---- */

unsigned emu_gpus_lock(unsigned number)
{
    struct shared_gpu *gpu = gpu_of(number);
    return gpu != NULL ? atomic_load(&gpu->lock_MHz) : 0;
}

void emu_gpus_set_lock(unsigned number, unsigned MHz)
{
    struct shared_gpu *gpu = gpu_of(number);
    if (gpu != NULL)
        atomic_store(&gpu->lock_MHz, MHz);
}

/* ---- processes ---- */

static bool is_alive(pid_t pid)
{
    char path[64], text[512], *state;
    FILE *file;
    if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH))
        return false;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    state = fgets(text, sizeof text, file) != NULL ? strrchr(text, ')') : NULL;
    fclose(file);
    return state != NULL && strncmp(state, ") Z", 3) != 0 && strncmp(state, ") X", 3) != 0;
}

/* A free place, or that of a process that is gone. */
static struct process_slot *claim(struct shared_gpu *gpu)
{
    for (unsigned i = 0; i < PROCESSES_MAX; i++) {
        struct process_slot *slot = &gpu->slots[i];
        int32_t pid = atomic_load(&slot->pid);
        if (is_alive(pid) || !atomic_compare_exchange_strong(&slot->pid, &pid, (int32_t)getpid()))
            continue;
        slot->heat = (struct emu_heat){0, 0, 0, 0};
        atomic_store(&slot->turn, 0);
        atomic_store(&slot->clock, 0);
        atomic_store(&slot->bytes, CONTEXT_BYTES);
        return slot;
    }
    return NULL;
}

void emu_gpus_enter(int device)
{
    struct shared_gpu *gpu = gpu_of(emu_device_number(device));
    if (gpu == NULL || atomic_load(&own[device]))
        return;
    pthread_mutex_lock(&lock);
    if (!atomic_load(&own[device])) {
        atomic_store(&own[device], claim(gpu));
        if (atomic_load(&owned) <= (unsigned)device)
            atomic_store(&owned, (unsigned)device + 1);
    }
    pthread_mutex_unlock(&lock);
}

/* One at a time. */
void emu_gpus_publish(int device, const struct emu_heat *heat)
{
    struct process_slot *slot = atomic_load(&own[device]);
    if (slot == NULL)
        return;
    atomic_fetch_add(&slot->turn, 1);
    atomic_thread_fence(memory_order_seq_cst);
    slot->heat = *heat;
    atomic_thread_fence(memory_order_seq_cst);
    atomic_fetch_add(&slot->turn, 1);
    atomic_store(&slot->bytes, CONTEXT_BYTES + emu_memory_all() - emu_memory_left());
}

void emu_gpus_tick(uint64_t clock)
{
    for (unsigned i = 0, count = atomic_load_explicit(&owned, memory_order_relaxed); i < count;
         i++) {
        struct process_slot *slot = atomic_load(&own[i]);
        uint64_t latest = slot != NULL ? atomic_load(&slot->clock) : UINT64_MAX;

        while (clock > latest && !atomic_compare_exchange_weak(&slot->clock, &latest, clock))
            ;
    }
}

/* A process that was stopped while it wrote would block readers for ever. After so many tries of a
 * millisecond a reader takes the values as they are, which may be half old and half new. */
#define READS_MAX 1000

static struct emu_heat read_heat(struct process_slot *slot)
{
    struct emu_heat heat;
    unsigned turn, reads = 0;
    do {
        turn = atomic_load(&slot->turn);
        atomic_thread_fence(memory_order_seq_cst);
        heat = slot->heat;
        atomic_thread_fence(memory_order_seq_cst);
        if (turn % 2 && reads > 0)
            usleep(1000);
    } while ((turn % 2 || turn != atomic_load(&slot->turn)) && ++reads < READS_MAX);
    return heat;
}

/* ---- what is seen ---- */

/* Returns the heat that a process has left on a GPU: of this process at the present time, of
 * another at the latest time that it told. */
static struct emu_heat heat_of(struct process_slot *slot)
{
    struct emu_heat heat = read_heat(slot);
    bool clocked = emu_self()->app || emu_real_clock();
    if (atomic_load(&slot->pid) == (int32_t)getpid() && clocked)
        return emu_heat_at(&heat, emu_time());
    return emu_heat_at(&heat, emu_real_clock() ? emu_time() : atomic_load(&slot->clock));
}

struct emu_gpu_view emu_gpus_view(unsigned number)
{
    const struct emu_fabric *f = emu_fabric();
    struct shared_gpu *gpu = gpu_of(number);
    struct emu_heat sum = {0, 0, 0, 0};
    struct emu_gpu_view view = {.MHz = (unsigned)f->sm_clock_MHz};
    for (unsigned i = 0; gpu != NULL && i < PROCESSES_MAX; i++)
        if (is_alive(atomic_load(&gpu->slots[i].pid))) {
            const struct emu_heat heat = heat_of(&gpu->slots[i]);
            sum.rise += heat.rise;
            sum.watts += heat.watts;
            sum.busy += heat.busy;
        }
    view.celsius = emu_heat_celsius(number, sum.rise);
    view.watts = fmin((double)f->idle_W + sum.watts, (double)f->power_W);
    view.busy = fmin(sum.busy, 1);
    view.locked_MHz = gpu != NULL ? atomic_load(&gpu->lock_MHz) : 0;
    if (view.locked_MHz && view.locked_MHz < view.MHz)
        view.MHz = view.locked_MHz;
    view.throttled = view.celsius >= f->throttle_celsius;
    if (view.throttled && (double)view.MHz > f->throttle_clock * (double)f->sm_clock_MHz)
        view.MHz = (unsigned)(f->throttle_clock * (double)f->sm_clock_MHz);
    return view;
}

unsigned emu_gpus_processes(unsigned number, struct emu_gpu_process *out, unsigned room)
{
    const struct emu_list *foreign = &emu_fabric()->foreign_process;
    struct shared_gpu *gpu = gpu_of(number);
    unsigned count = 0;
    for (unsigned i = 0; gpu != NULL && i < PROCESSES_MAX; i++) {
        pid_t pid = atomic_load(&gpu->slots[i].pid);
        if (!is_alive(pid))
            continue;
        if (count < room)
            out[count] = (struct emu_gpu_process){pid, atomic_load(&gpu->slots[i].bytes)};
        count++;
    }
    for (unsigned i = 0; i < foreign->count; i++) {
        const double *line = foreign->line[i];
        if ((unsigned)line[0] != number)
            continue;
        if (count < room)
            out[count] = (struct emu_gpu_process){(pid_t)line[1], (uint64_t)line[2] << 20};
        count++;
    }
    return count;
}

/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../../tracer/loader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Atomic int inside;

static int linger(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct timespec fork_has_begun = {0, 50000000};
    (void)info, (void)size, (void)arg;
    atomic_store(&inside, 1);
    nanosleep(&fork_has_begun, NULL);
    return 1;
}

static int stop(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)info, (void)size, (void)arg;
    return 1;
}

static void *ask(void *unused)
{
    (void)unused;
    CHECK_INT(loader_objects(linger, NULL), 1);
    return NULL;
}

/* The child asks by itself, and through the tracer; ended by a signal where it hangs. It ends by
 * the system call: ThreadSanitizer's _exit() would report the parent's thread as never joined. */
static int child_ends(void)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        syscall(SYS_exit_group,
                dl_iterate_phdr(stop, NULL) == 1 && loader_objects(stop, NULL) == 1 ? 0 : 1);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    return status;
}

TEST(tracer_fork_waits_for_questions_to_the_loader)
{
    static bool begun;
    pthread_t thread;
    if (!begun)
        loader_lock_begin();
    begun = true;
    atomic_store(&inside, 0);
    CHECK_INT(pthread_create(&thread, NULL, ask, NULL), 0);
    while (atomic_load(&inside) == 0)
        sched_yield();
    CHECK_INT(child_ends(), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(loader_objects(stop, NULL), 1);
}

TEST(tracer_fork_within_a_question)
{
    loader_enter();
    loader_enter();
    CHECK_INT(child_ends(), 0);
    loader_leave();
    loader_leave();
    CHECK_INT(child_ends(), 0);
}

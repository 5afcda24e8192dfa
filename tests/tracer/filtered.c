/* SPDX-License-Identifier: MIT
 *
 * A program that puts itself under a seccomp filter, over libraries whose functions return at once
 * (tests/bench/stub.c): `filtered thread|process [late]`, for the calling thread or for all; late:
 * with calls after the tracer's exit handler. What the filter does not name kills the process; it
 * names what a program of threads and files needs to go on and to end, not getpid() or pwrite().
 * Ends with status 5.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <nccl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int allowed[] = {
    SYS_write,         SYS_exit,        SYS_exit_group,      SYS_futex,           SYS_mmap,
    SYS_munmap,        SYS_brk,         SYS_madvise,         SYS_rt_sigprocmask,  SYS_rt_sigreturn,
    SYS_clock_gettime, SYS_sched_yield, SYS_clock_nanosleep, SYS_restart_syscall, SYS_fstat,
    SYS_newfstatat,    SYS_close,       SYS_lseek,
};

#define ALLOWED (sizeof allowed / sizeof *allowed)

static char handle[64];

static void call(int times)
{
    for (int i = 0; i < times; i++)
        ncclAllReduce(NULL, NULL, 1, ncclFloat32, ncclSum, (ncclComm_t)handle, NULL);
}

static int install(unsigned flags)
{
    struct sock_filter filter[ALLOWED + 3];
    struct sock_fprog program = {ALLOWED + 3, filter};
    filter[0] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < ALLOWED; i++)
        filter[1 + i] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], (unsigned char)(ALLOWED - i), 0);
    filter[ALLOWED + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    filter[ALLOWED + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return errno;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) != 0 ? errno : 0;
}

static int late_calls;

__attribute__((destructor)) static void end(void)
{
    call(late_calls);
}

int main(int argc, char **argv)
{
    bool all = argc >= 2 && strcmp(argv[1], "process") == 0;
    late_calls = argc == 3 ? 20 : 0;
    call(10);
    usleep(300000); /* a tracer has looked around by now */
    if (install(all ? SECCOMP_FILTER_FLAG_TSYNC : 0) != 0)
        return 77;
    call(100);
    exit(5);
}

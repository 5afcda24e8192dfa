# gdb: a program with threads and a child, stopped at a breakpoint, looked at and run on. Both have
# the preload.
OBSERVE=alone
COMMAND=gdb

prepare() {
    need gdb
    cat >threads.c <<'C'
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int work(int value)
{
    return value * 7;
}
static void *run(void *arg)
{
    *(int *)arg = work(*(int *)arg);
    return NULL;
}
int main(void)
{
    pthread_t thread;
    int value = 6, status;
    pid_t child;
    pthread_create(&thread, NULL, run, &value);
    pthread_join(thread, NULL);
    printf("value %d\n", value);
    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(4);
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    fflush(stdout);
    if (system("ls -l /proc/self/fd | awk '{ print $9, $10, $11 }'") != 0)
        return 1;
    return value == 42 ? 5 : 1;
}
C
    compile -pthread -o threads threads.c
}

program() {
    gdb -nx -batch -iex 'set debuginfod enabled off' -ex 'break work' -ex run -ex 'info args' -ex bt \
        -ex 'info threads' -ex 'print value' -ex 'set var value = 5' -ex finish -ex continue \
        -ex 'info inferiors' "$MADE/threads" 2>&1
    echo "status $?"
    # A program that ends by a signal, and one that is attached to.
    gdb -nx -batch -ex run -ex bt --args bash -c 'kill -ABRT $$' 2>&1 | grep -E 'received|^#0'
    sleep 60 &
    gdb -nx -batch -p $! -ex 'print (int)getpid() == '$! -ex detach 2>&1 | grep '^\$1'
    kill $!
    wait $!
    echo "status $?"
}
# Where a thread that waits is when another is stopped, and when gdb tells of an end or a child, is chance.
normalize() { sed -E '/^\[(Thread .* exited|Detaching after .*)\]$/d; /^  Id   Target Id/d; /^  [0-9]+ +Thread /s/"[a-z]+".*//' | without_addresses | sed -E 's/LWP [0-9]+/LWP/g; s/process [0-9]+/process/g; s,/proc/[0-9]+,/proc/PID,g'; }

# valgrind: memcheck of a program that leaks, reads what is not set, and has a thread and a child.
prepare() {
    need valgrind
    cat >leaks.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *run(void *arg)
{
    free(malloc(10));
    return arg;
}
int main(void)
{
    int *unset = malloc(4 * sizeof *unset), status;
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    puts(unset[2] == 7 ? "seven" : "another");
    fflush(stdout);
    if (fork() == 0)
        exit(3);
    wait(&status);
    printf("child %d\n", WEXITSTATUS(status));
    unset = NULL;
    return 0;
}
C
    compile -O0 -pthread -o leaks leaks.c
}

program() {
    valgrind --leak-check=full --show-leak-kinds=all --track-fds=yes --error-exitcode=9 "$MADE/leaks"
    echo "status $?"
    valgrind -q --tool=none true
    echo "status $?"
}
# A preload with thread-local storage adds an entry to the table that the C library allocates for a thread.
normalize() {
    without_addresses | sed -E 's/(total heap usage: .*, )[0-9,]+ bytes/\1N bytes/; s/==[0-9]+==/==PID==/; s/(vgdb-pipe-[a-z-]+)[0-9]+-by/\1PID-by/g; s,valgrind_proc_[0-9]+_[a-z0-9_]+,valgrind_proc,g'
}

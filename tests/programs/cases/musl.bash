# A static program of another C library (musl): threads, a child, its descriptors.
prepare() {
    local unpacked
    unpacked=$(echo "$PROGRAMS"/apt/root/usr/lib/*-linux-musl/musl-gcc.specs)
    [[ -e $unpacked ]] || need musl-gcc
    cat >small.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *run(void *arg)
{
    *(int *)arg *= 2;
    return NULL;
}
int main(void)
{
    pthread_t thread;
    int value = 21, status;
    pthread_create(&thread, NULL, run, &value);
    pthread_join(thread, NULL);
    printf("value %d\n", value);
    fflush(stdout);
    if (fork() == 0)
        execlp("sh", "sh", "-c", "echo from the child; exit 3", NULL);
    wait(&status);
    printf("child %d\n", WEXITSTATUS(status));
    return 4;
}
C
    if [[ -e $unpacked ]]; then # what musl-gcc does has the names of installed folders
        sed "s,/usr/,$PROGRAMS/apt/root/usr/,g" "$unpacked" >specs
        gcc -specs "$PWD/specs" -static -O1 -o small small.c
    else
        musl-gcc -static -O1 -o small small.c
    fi
}

program() {
    "$MADE/small"
    echo "status $?"
}

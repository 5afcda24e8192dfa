# The first line is written at once and alone: a program that ends itself or is killed the moment after has
# left a trace that says whose it is.
. "$ROOT/tests/cli/tracer/common.bash"
cat >watch.c <<'END'
#define _GNU_SOURCE
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char init[] = "{\"event\":\"init\"";

ssize_t write(int fd, const void *bytes, size_t len)
{
    const char *text = bytes, *end = memchr(text, '\n', len);
    if (len > sizeof init && memcmp(text, init, sizeof init - 1) == 0) {
        const char *said = end == text + len - 1 ? "alone\n" : "not alone\n";
        syscall(SYS_write, STDOUT_FILENO, said, strlen(said));
    }
    return syscall(SYS_write, fd, bytes, len);
}
END
"$CC" -shared -fPIC -o watch.so watch.c || fail "cannot compile"
PRELOAD="$PRELOAD $PWD/watch.so"
traced out "$FLIGHT" steps 3 0 || exit 1
check out/*

/* SPDX-License-Identifier: MIT
 *
 * The sockets of ranks.c: rank 0's listener, connections to it, bytes within a time.
 */
#include "bench/ranks.h"

#include "base/now.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define RETRY_MS 100 /* between attempts to reach rank 0, which may start later */

/* ---- bytes ---- */

int bench_socket_left_ms(double until_s)
{
    double left = until_s - now_s();
    return left <= 0 ? 0 : left > 1e6 ? 1000000000 : (int)(left * 1e3) + 1;
}

int bench_socket_transfer(int fd, void *bytes, size_t size, bool sending, double until_s)
{
    char *at = bytes;
    while (size > 0) {
        struct pollfd p = {fd, sending ? POLLOUT : POLLIN, 0};
        ssize_t n;
        if (poll(&p, 1, bench_socket_left_ms(until_s)) == 0)
            return errno = ETIMEDOUT, -1;
        n = sending ? send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT)
                    : recv(fd, at, size, MSG_DONTWAIT);
        if (n == 0 && !sending)
            return errno = ECONNRESET, -1;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

/* ---- connections ---- */

static struct addrinfo *look_up(const struct bench_place *p, struct err *e)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    char port[16];
    int error;
    snprintf(port, sizeof port, "%d", p->port);
    error = getaddrinfo(p->master, port, &hints, &list);
    if (error != 0)
        err_set(e, ERR_INPUT, "the machine of rank 0, '%s': %s (MASTER_ADDR names it)", p->master,
                gai_strerror(error));
    return error == 0 ? list : NULL;
}

void bench_socket_set_options(int fd)
{
    int yes = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static bool is_loopback(const struct sockaddr *at)
{
    const struct sockaddr_in *v4 = (const void *)at;
    const struct sockaddr_in6 *v6 = (const void *)at;
    return at->sa_family == AF_INET ? ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
                                    : IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* -1: not possible, errno says why. */
static int listen_at(const struct addrinfo *at, int world)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1, error;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (fd < 0 || (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, world) == 0))
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Debian gives a machine's own name an address of the loopback, which other nodes do not reach: for
 * several nodes it comes last. */
int bench_socket_listen(const struct bench_place *p, struct err *e)
{
    const char *given = getenv(BENCH_ENV_LISTEN);
    bool several = p->world != p->local_world;
    struct addrinfo *list;
    int fd = -1;
    if (given != NULL)
        return (int)strtol(given, NULL, 10);
    list = look_up(p, e);
    if (list == NULL)
        return -1;
    for (int last = 0; last <= several && fd < 0; last++) {
        for (const struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next) {
            if (!several || is_loopback(a->ai_addr) == (last > 0))
                fd = listen_at(a, p->world);
        }
    }
    if (fd < 0)
        err_set(e, ERR_INPUT, "cannot listen on %s port %d: %s (--port N takes another)", p->master,
                p->port, strerror(errno));
    freeaddrinfo(list);
    return fd;
}

/* Tries again and again: rank 0 may start later. */
int bench_socket_connect(const struct bench_place *p, double timeout_s, struct err *e)
{
    const struct timespec pause = {0, RETRY_MS * 1000000};
    double until_s = now_s() + timeout_s;
    struct addrinfo *list = look_up(p, e);
    int fd = -1, error = 0;
    if (list == NULL)
        return -1;
    while (fd < 0 && now_s() < until_s) {
        for (struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next) {
            fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
            if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0)
                break;
            error = errno;
            if (fd >= 0)
                close(fd);
            fd = -1;
        }
        if (fd < 0)
            nanosleep(&pause, NULL);
    }
    freeaddrinfo(list);
    if (fd < 0)
        return err_set(e, ERR_INPUT, "rank 0 at %s port %d was not reached within %g s: %s",
                       p->master, p->port, timeout_s, strerror(error));
    bench_socket_set_options(fd);
    return fd;
}

int bench_socket_address(int fd, char *address, size_t size, struct err *e)
{
    struct sockaddr_storage at;
    socklen_t length = sizeof at;
    int error;
    if (getsockname(fd, (struct sockaddr *)&at, &length) != 0)
        return err_set(e, ERR_INPUT, "this machine's address: %s", strerror(errno));
    error = getnameinfo((struct sockaddr *)&at, length, address, (socklen_t)size, NULL, 0,
                        NI_NUMERICHOST);
    return error == 0 ? 0
                      : err_set(e, ERR_INPUT, "this machine's address: %s", gai_strerror(error));
}

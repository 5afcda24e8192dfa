/* SPDX-License-Identifier: MIT
 *
 * What communication does to the memory of a GPU. Derivation: README.md beside this file.
 */
#include "model/bound.h"

/* Bytes of the busiest GPU: `whole` times S, what it reads of its own and writes of the result, and
 * `passed` times (n-1)/n S, what comes in to be read once more: to be added to, or sent on. */
static const struct {
    double whole, passed;
} traffic[SPECTER_COMM_OP_COUNT] = {
    [SPECTER_ALLREDUCE] = {2, 3}, /* sums are written and read, results are read */
    [SPECTER_ALLGATHER] = {1, 1},
    [SPECTER_REDUCESCATTER] = {2, 1},
    [SPECTER_BROADCAST] = {2, 0}, /* in the middle of the ring */
    [SPECTER_REDUCE] = {3, 0},
    [SPECTER_ALLTOALL] = {2, 0},
    [SPECTER_ALLTOALLV] = {2, 0},
    [SPECTER_GATHER] = {2, -1}, /* the root: all of one buffer, its part of the other */
    [SPECTER_SCATTER] = {2, -1},
    [SPECTER_SEND] = {1, 0},
    [SPECTER_RECV] = {1, 0},
};

double comm_memory_bytes(enum specter_comm_op op, const char *algo, double bytes, int ranks)
{
    double n = ranks;
    if ((unsigned)op >= SPECTER_COMM_OP_COUNT || ranks < 2)
        return 0;
    if (op == SPECTER_ALLREDUCE && comm_in_switch(algo))
        return 2 * bytes;
    return (traffic[op].whole + traffic[op].passed * (n - 1) / n) * bytes;
}

/* SPDX-License-Identifier: MIT
 *
 * What communication does to the memory of a GPU. Derivation: README.md beside this file.
 */
#include "model/bound.h"

/* Bytes of the busiest GPU, in S (n-1)/n: what it gives is read, what it gets is written, and what
 * it adds to what it gets is read as well. */
static const struct {
    double gives, gets, adds;
} traffic[SPECTER_COMM_OP_COUNT] = {
    [SPECTER_ALLREDUCE] = {2, 2, 1}, /* sums go around, then results */
    [SPECTER_ALLGATHER] = {1, 1, 0}, [SPECTER_REDUCESCATTER] = {1, 1, 1},
    [SPECTER_BROADCAST] = {1, 1, 0}, /* in the middle of the ring */
    [SPECTER_REDUCE] = {1, 1, 1},    [SPECTER_ALLTOALL] = {1, 1, 0},
    [SPECTER_ALLTOALLV] = {1, 1, 0}, [SPECTER_GATHER] = {0, 1, 0}, /* the root */
    [SPECTER_SCATTER] = {1, 0, 0},   [SPECTER_SEND] = {1, 0, 0},
    [SPECTER_RECV] = {0, 1, 0},
};

double comm_memory_bytes(enum specter_comm_op op, const char *algo, double bytes, int ranks)
{
    double n = ranks, share = (n - 1) / n;
    if ((unsigned)op >= SPECTER_COMM_OP_COUNT || ranks < 2)
        return 0;
    if (specter_comm_op_is_p2p(op))
        share = 1;
    if (op == SPECTER_ALLREDUCE && comm_in_switch(algo))
        return 2 * (1 + 1 / n) * bytes;
    return (traffic[op].gives + traffic[op].gets + traffic[op].adds) * share * bytes;
}

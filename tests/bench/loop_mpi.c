/* SPDX-License-Identifier: MIT
 *
 * AllReduce of MPI in a plain loop, for bench-collective: loop_mpi ELEMENTS ITERATIONS prints the
 * median over the iterations, in microseconds, of the largest time over all processes.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    int elements = argc > 2 ? atoi(argv[1]) : 0, iterations = argc > 2 ? atoi(argv[2]) : 0, rank;
    float *send = calloc((size_t)elements + 1, sizeof *send);
    float *receive = calloc((size_t)elements + 1, sizeof *receive);
    double *us = calloc((size_t)iterations + 1, sizeof *us), before;
    if (iterations < 1 || send == NULL || receive == NULL || us == NULL)
        return 2;
    for (int i = 0; i < elements; i++)
        send[i] = receive[i] = (float)(i % 7);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(send, receive, elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    before = now_us();
    for (int i = 0; i < iterations; i++) {
        MPI_Allreduce(send, receive, elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        us[i] = now_us() - before;
        before += us[i];
    }
    MPI_Allreduce(MPI_IN_PLACE, us, iterations, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    qsort(us, (size_t)iterations, sizeof *us, compare);
    if (rank == 0)
        printf("%.3f\n", us[iterations / 2]);
    MPI_Finalize();
    free(us);
    free(receive);
    free(send);
    return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Runs a command and writes down, while it runs, the state that its GPU is in.
 *
 *     state FILE MILLISECONDS COMMAND...
 *
 * FILE is a CSV: seconds since the start, clocks and their maxima in MHz, power and its limit in W,
 * temperature, and what holds the clock down. The status is the command's. Clocks and limits are
 * only read. Without NVML the command runs all the same, and FILE has no rows.
 */
#include "../shared/nvml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void write_row(FILE *out, double at_s, const struct nvml *nvml)
{
    struct gpu_state s;

    nvml_look(nvml, &s);
    fprintf(out, "%.4f,%d,%d,%d,%d,%.1f,%.1f,%d,%s\n", at_s, s.sm_MHz, s.sm_max_MHz, s.mem_MHz,
            s.mem_max_MHz, s.power_W, s.limit_W, s.celsius, nvml_reason_words(s.reasons));
}

/* A row a period until the child has ended; its status. */
static int watch(FILE *out, long period_ms, pid_t child, const struct nvml *nvml)
{
    struct timespec period = {period_ms / 1000, period_ms % 1000 * 1000000};
    double begun_s = now_s();
    int status = 0;
    pid_t ended;

    while ((ended = waitpid(child, &status, WNOHANG)) == 0) {
        if (nvml->device != NULL)
            write_row(out, now_s() - begun_s, nvml);
        nanosleep(&period, NULL);
    }
    if (ended < 0)
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    struct nvml nvml;
    long period_ms = argc > 3 ? strtol(argv[2], NULL, 10) : 0;
    FILE *out;
    pid_t child;
    int status;

    if (argc < 4 || period_ms < 1) {
        fprintf(stderr, "usage: state FILE MILLISECONDS COMMAND...\n");
        return 2;
    }
    out = fopen(argv[1], "w");
    if (out == NULL) {
        fprintf(stderr, "state: %s: %s\n", argv[1], strerror(errno));
        return 2;
    }
    child = fork(); /* before NVML is opened: the command begins with nothing of ours */
    if (child == 0) {
        execvp(argv[3], argv + 3);
        fprintf(stderr, "state: %s: %s\n", argv[3], strerror(errno));
        _exit(127);
    }
    if (nvml_open(&nvml, NULL) < 0)
        fprintf(stderr, "state: no NVML: clocks and power are not known\n");
    fprintf(out, "at_s,sm_MHz,sm_max_MHz,mem_MHz,mem_max_MHz,power_W,limit_W,celsius,reasons\n");
    status = child > 0 ? watch(out, period_ms, child, &nvml) : 1;
    if (fclose(out) != 0) {
        fprintf(stderr, "state: %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    return status;
}

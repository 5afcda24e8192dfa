/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../../tracer/comm.h"
#include "../../tracer/config.h"
#include "../../tracer/file.h"
#include "../../tracer/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct config config;

/* Reads a configuration from the variables given. */
#define READ(...) config_read_from(&config, (const char *const[]){__VA_ARGS__, NULL})

TEST(tracer_config_defaults)
{
    READ("HOME=/");
    CHECK(!config.disabled && !config.sync && config.record_ops);
    CHECK_STR(config.output, ".");
    CHECK_INT(config.rank, CONFIG_UNKNOWN);
    CHECK_INT(config.world_size, CONFIG_UNKNOWN);
    CHECK_STR(config.env, "{}");
    CHECK(config.run[0] != '\0');
    READ("SPECTER_OUTPUT=", "SPECTER_SYNC=0", "SPECTER_DISABLE=0");
    CHECK_STR(config.output, ".");
    CHECK(!config.sync && !config.disabled);
    READ("SPECTER_OUTPUT=a/b", "SPECTER_SYNC=1", "SPECTER_DISABLE=1");
    CHECK_STR(config.output, "a/b");
    CHECK(config.sync && config.disabled);
    READ("SPECTER_DISABLE=no");
    CHECK(!config.disabled);
    READ("SPECTER_DISABLE=yes");
    CHECK(config.disabled);
}

TEST(tracer_config_ranks_of_one_launcher)
{
    READ("RANK=3", "WORLD_SIZE=8", "LOCAL_RANK=1", "SLURM_PROCID=0", "SLURM_NTASKS=1");
    CHECK_INT(config.rank, 3);
    CHECK_INT(config.world_size, 8);
    CHECK_INT(config.local_rank, 1);
    READ("SLURM_PROCID=5", "SLURM_NTASKS=16", "SLURM_LOCALID=1", "WORLD_SIZE=99");
    CHECK_INT(config.rank, 5);
    CHECK_INT(config.world_size, 16);
    READ("OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=4", "PMIX_RANK=7");
    CHECK_INT(config.rank, 2);
    CHECK_INT(config.local_rank, CONFIG_UNKNOWN);
    READ("PMIX_RANK=7");
    CHECK_INT(config.rank, 7);
    READ("RANK=-1");
    CHECK_INT(config.rank, CONFIG_UNKNOWN);
    READ("RANK=3x", "PMI_RANK=4");
    CHECK_INT(config.rank, 4);
    READ("RANK=99999999999999999999");
    CHECK_INT(config.rank, CONFIG_UNKNOWN);
}

TEST(tracer_config_list_of_ranks)
{
    CHECK(config_in_list("3", 3) && !config_in_list("3", 4));
    CHECK(config_in_list("0,8-15", 0) && config_in_list("0,8-15", 8));
    CHECK(config_in_list("0,8-15", 15) && !config_in_list("0,8-15", 16));
    CHECK(!config_in_list("", 0) && !config_in_list("x", 0) && !config_in_list("5-", 5));
    READ("RANK=2", "SPECTER_RANKS=0,1");
    CHECK(!config.record_ops);
    READ("RANK=1", "SPECTER_RANKS=0,1");
    CHECK(config.record_ops);
    READ("SPECTER_RANKS=0,1"); /* no rank: nothing tells that it is not among them */
    CHECK(config.record_ops);
}

/* A launcher above the captures names the run; below one capture, the capture does. */
TEST(tracer_config_names_of_runs)
{
    READ("SPECTER_RUN=capture-1");
    CHECK_STR(config.run, "capture-1");
    READ("SPECTER_RUN=capture-1", "SLURM_JOB_ID=12", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=8");
    CHECK_STR(config.run, "12.0");
    READ("SPECTER_RUN=capture-1", "SLURM_JOB_ID=12", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=1");
    CHECK_STR(config.run, "capture-1"); /* a shell in a step of one: several captures */
    READ("SLURM_JOB_ID=12", "SLURM_STEP_ID=3");
    CHECK_STR(config.run, "12.3");
    READ("SLURM_JOB_ID=12");
    CHECK_STR(config.run, "12");
    READ("SPECTER_RUN=capture-2", "TORCHELASTIC_RUN_ID=job7", "RANK=0", "WORLD_SIZE=8",
         "LOCAL_WORLD_SIZE=8");
    CHECK_STR(config.run, "capture-2");
    READ("SPECTER_RUN=capture-2", "TORCHELASTIC_RUN_ID=job7", "RANK=0", "WORLD_SIZE=16",
         "LOCAL_WORLD_SIZE=8");
    CHECK_STR(config.run, "job7");
    READ("TORCHELASTIC_RUN_ID=job7", "RANK=0");
    CHECK_STR(config.run, "job7");
    READ("SPECTER_RUN=capture-2", "TORCHELASTIC_RUN_ID=none", "RANK=0", "WORLD_SIZE=16",
         "LOCAL_WORLD_SIZE=8");
    CHECK_STR(config.run, "capture-2");
    READ("SPECTER_RUN=capture-2", "PMIX_NAMESPACE=ns@1", "OMPI_COMM_WORLD_RANK=1",
         "OMPI_COMM_WORLD_SIZE=4");
    CHECK_STR(config.run, "ns@1");
    READ("SPECTER_RUN=12.0", "PMIX_NAMESPACE=slurm.pmix.12.0", "RANK=0", "WORLD_SIZE=8");
    CHECK_STR(config.run, "12.0"); /* what the captures of a step have agreed on */
    READ("SLURM_JOB_ID=12", "SLURM_STEP_ID=0", "SLURM_RESTART_COUNT=2");
    CHECK_STR(config.run, "12.0.restart2");
    READ("SLURM_JOB_ID=12", "SLURM_STEP_ID=0", "SLURM_RESTART_COUNT=0");
    CHECK_STR(config.run, "12.0");
}

TEST(tracer_config_run_without_any_name_is_that_of_the_process_group)
{
    char first[sizeof config.run];
    CHECK(setpgid(0, 0) == 0 || getpgrp() == getpid()); /* whose leader is there to be asked */
    READ("RANK=0");
    strcpy(first, config.run);
    READ("RANK=1");
    CHECK_STR(config.run, first);
    CHECK_HAS(first, config.host);
    CHECK(strstr(first, "-0") == NULL || strlen(strrchr(first, '-')) > 2); /* a start time */
}

TEST(tracer_config_environment_is_an_allow_list)
{
    READ("NCCL_ALGO=Ring", "AWS_SECRET=x", "NCCLX=1", "CUDA_VISIBLE_DEVICES=0,1",
         "CUDA_VISIBLE_DEVICES_X=1", "SLURM_JOB_ID=1", "MALFORMED");
    CHECK_STR(config.env, "{\"NCCL_ALGO\":\"Ring\",\"CUDA_VISIBLE_DEVICES\":\"0,1\","
                          "\"SLURM_JOB_ID\":\"1\"}");
    READ("NCCL_A=\"\\\n\xff", "NCCL_=");
    CHECK_STR(config.env, "{\"NCCL_A\":\"\\\"\\\\\\u000a\xef\xbf\xbd\",\"NCCL_\":\"\"}");
}

TEST(tracer_config_environment_is_bounded)
{
    static char variables[200][1100];
    const char *list[201];
    for (int i = 0; i < 200; i++) {
        int n = snprintf(variables[i], sizeof variables[i], "NCCL_%d=", i);
        memset(variables[i] + n, 1, i % 2 ? 1000 : 1050); /* the longer ones are left out whole */
        list[i] = variables[i];
    }
    list[200] = NULL;
    config_read_from(&config, list);
    CHECK(strlen(config.env) < sizeof config.env);
    CHECK(config.env[strlen(config.env) - 1] == '}');
    CHECK(strstr(config.env, "NCCL_1\"") != NULL && strstr(config.env, "NCCL_0\"") == NULL);
}

TEST(tracer_file_never_overwrites)
{
    char dir[] = "/tmp/specter-test-XXXXXX", path[64], other[64];
    struct file a, b;
    struct stat st;
    size_t kept;
    CHECK(mkdtemp(dir) != NULL);
    READ("RANK=0");
    snprintf(config.output, sizeof config.output, "%s/x/y", dir);
    CHECK_INT(file_open(&a, &config), 0);
    CHECK_INT(file_open(&b, &config), 0);
    snprintf(path, sizeof path, "%s/x/y/specter_trace_rank0.jsonl", dir);
    snprintf(other, sizeof other, "%s/x/y/specter_trace_rank0.1.jsonl", dir);
    CHECK_STR(a.name, path);
    CHECK_STR(b.name, other);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(a.fd > STDERR_FILENO && (fcntl(a.fd, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK_INT(file_write(&a, "{}\n", 3, &kept), 0);
    CHECK_INT(kept, 3);
    file_close(&a);
    file_close(&b);
    CHECK(stat(path, &st) == 0 && st.st_size == 3);
    CHECK(unlink(path) == 0 && unlink(other) == 0);
    snprintf(path, sizeof path, "%s/x/y", dir);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0700 && rmdir(path) == 0);
    snprintf(path, sizeof path, "%s/x", dir);
    CHECK(rmdir(path) == 0 && rmdir(dir) == 0);
}

/* A program that closes all descriptors may get ours for a file of its own. */
TEST(tracer_file_does_not_write_into_others)
{
    char dir[] = "/tmp/specter-test-XXXXXX", path[64];
    struct file f;
    size_t kept;
    int fd;
    CHECK(mkdtemp(dir) != NULL);
    READ("RANK=0");
    strcpy(config.output, dir);
    CHECK_INT(file_open(&f, &config), 0);
    fd = open("/dev/null", O_WRONLY);
    CHECK(dup2(fd, f.fd) == f.fd);
    CHECK_INT(file_write(&f, "{}\n", 3, &kept), EBADF);
    CHECK_INT(kept, 0);
    file_close(&f);
    close(fd);
    snprintf(path, sizeof path, "%s/specter_trace_rank0.jsonl", dir);
    CHECK(unlink(path) == 0 && rmdir(dir) == 0);
}

TEST(tracer_resolve_knows_a_library_by_its_file_name)
{
    CHECK(resolve_is_library("/usr/lib/libnccl.so.2", "libnccl"));
    CHECK(resolve_is_library("libnccl.so", "libnccl"));
    CHECK(resolve_is_library("/w/libnccl-1a2b3c4d.so.2", "libnccl"));
    CHECK(!resolve_is_library("/w/libnccl-net.so", "libnccl"));
    CHECK(!resolve_is_library("/w/libnccl-abc.so", "libnccl"));
    CHECK(!resolve_is_library("/w/libnccl.so2", "libnccl"));
    CHECK(!resolve_is_library("/libnccl.so.2/x", "libnccl"));
    CHECK(!resolve_is_library("/w/libcublasLt.so.13", "libcublas"));
    CHECK(resolve_is_library("/w/libcublasLt.so.13", "libcublasLt"));
    CHECK(!resolve_is_library("", "libnccl"));
    CHECK(resolve_is_library("/opt/rocm/lib/librccl.so.1", "libnccl|librccl"));
    CHECK(resolve_is_library("libnccl.so.2", "libnccl|librccl"));
    CHECK(!resolve_is_library("/w/librccl-net.so", "libnccl|librccl"));
    CHECK(!resolve_is_library("libnccl.so.2", "librccl"));
}

static int visited;

static void count_visit(const struct traced_comm *c, void *arg)
{
    (void)c;
    (void)arg;
    visited++;
}

TEST(tracer_comm_identity_and_counts)
{
    struct comm_init init = comm_init_unknown;
    ncclComm_t handle = (ncclComm_t)(uintptr_t)0x5000, other = (ncclComm_t)(uintptr_t)0x6000;
    struct traced_comm *c, *d;
    int64_t seq;
    comm_reset();
    init.id = comm_hash("id", 2, 0);
    init.rank = 1;
    init.size = 4;
    init.device = 0;
    c = comm_add(handle, &init);
    CHECK(c != NULL && comm_look_up(handle) == c && comm_look_up(other) == NULL);
    CHECK_INT(comm_next_collective(c, NO_ID), 0);
    CHECK_INT(comm_next_collective(c, NO_ID), 1);
    CHECK_INT(comm_next_p2p(c, 3, false, NO_ID), 0);
    CHECK_INT(comm_next_p2p(c, 3, true, NO_ID), 0);
    CHECK_INT(comm_next_p2p(c, 3, false, NO_ID), 1);
    CHECK_INT(comm_next_p2p(c, 4, false, NO_ID), -1);
    CHECK_INT(comm_next_p2p(c, -1, true, NO_ID), -1);
    d = comm_find(other, NULL); /* never seen being made */
    CHECK(d != NULL && d != c);
    CHECK_INT(comm_next_collective(d, NO_ID), -1);
    CHECK_INT((int64_t)comm_split_id(d, 0, NO_ID, &seq), 0);
    visited = 0;
    comm_visit_new(count_visit, NULL);
    comm_visit_new(count_visit, NULL);
    CHECK_INT(visited, 2);
    comm_end(handle);
    CHECK(comm_look_up(handle) == NULL && comm_look_up(other) == d);
    comm_visit_new(count_visit, NULL);
    CHECK_INT(visited, 2);
    c = comm_add(handle, &init); /* the handle again, for another communicator */
    CHECK_INT(comm_next_collective(c, NO_ID), 0);
    CHECK_INT(comm_next_p2p(c, 3, false, NO_ID), 0);
    comm_reset();
}

TEST(tracer_comm_numbers_of_a_failed_group_come_back)
{
    struct comm_init init = comm_init_unknown;
    struct traced_comm *c;
    int64_t seq;
    comm_reset();
    init.id = init.size = 4;
    init.rank = init.device = 0;
    c = comm_add((ncclComm_t)(uintptr_t)0x5000, &init);
    CHECK_INT(comm_next_collective(c, 7), 0); /* of a group that goes well */
    CHECK_INT(comm_next_collective(c, 8), 1);
    CHECK_INT(comm_next_collective(c, 8), 2);
    CHECK_INT(comm_next_p2p(c, 2, true, 8), 0);
    comm_split_id(c, 0, 8, &seq);
    comm_give_back(NO_ID);
    comm_give_back(9);
    comm_give_back(7); /* too late: others came after */
    CHECK_INT(comm_next_collective(c, NO_ID), 3);
    comm_give_back(8);
    comm_give_back(8);
    CHECK_INT(comm_next_collective(c, NO_ID), 2);
    CHECK_INT(comm_next_p2p(c, 2, true, NO_ID), 0);
    comm_split_id(c, 0, NO_ID, &seq);
    CHECK_INT(seq, 0);
    comm_reset();
}

TEST(tracer_comm_split_is_the_same_on_all_members)
{
    struct comm_init init = comm_init_unknown;
    uint64_t ids[2][3];
    int64_t seq;
    init.id = comm_hash("parent", 6, 0);
    init.size = 2;
    init.device = 0;
    for (int member = 0; member < 2; member++) {
        struct traced_comm *parent;
        comm_reset();
        init.rank = member;
        parent = comm_add((ncclComm_t)(uintptr_t)0x5000, &init);
        ids[member][0] = comm_split_id(parent, 0, NO_ID, &seq);
        ids[member][1] = comm_split_id(parent, 1, NO_ID, &seq);
        ids[member][2] = comm_split_id(parent, 1, NO_ID, &seq);
        CHECK_INT(seq, 2);
    }
    for (int i = 0; i < 3; i++)
        CHECK(ids[0][i] == ids[1][i] && ids[0][i] != init.id);
    CHECK(ids[0][0] != ids[0][1] && ids[0][1] != ids[0][2]);
    comm_reset();
}

/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../../tracer/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "specter_trace_rank0.jsonl"

static struct config config;
static char dir[] = "/tmp/specter-test-XXXXXX";
static int home = -1; /* the folder that the tests run in */

/* For files in a new folder, named as a program names it that is there. */
static void enter(void)
{
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    CHECK((home = open(".", O_RDONLY | O_DIRECTORY)) >= 0);
    CHECK(mkdtemp(dir) != NULL);
    CHECK(chdir(dir) == 0);
    config_read_from(&config, (const char *const[]){"RANK=0", "SPECTER_OUTPUT=out", NULL});
}

static void leave(void)
{
    CHECK(chdir(dir) == 0);
    CHECK(rmdir("out") == 0);
    CHECK(fchdir(home) == 0 && close(home) == 0 && rmdir(dir) == 0);
}

/* A program that changes its folder may come to one that has a trace of the same name. */
TEST(tracer_file_discards_its_own)
{
    struct file file;
    enter();
    CHECK_INT(file_open(&file, &config), 0);
    CHECK(mkdir("other", 0700) == 0 && mkdir("other/out", 0700) == 0 && chdir("other") == 0);
    CHECK(close(open("out/" NAME, O_WRONLY | O_CREAT, 0600)) == 0);
    file_discard(&file);
    CHECK(unlink("out/" NAME) == 0);
    CHECK(rmdir("out") == 0 && chdir("..") == 0 && rmdir("other") == 0);
    leave();
}

/* As many descriptors as there are, and `more`. */
static void limit_descriptors(struct rlimit *before, int more)
{
    int next = dup(0);
    struct rlimit limit;
    CHECK(next > 2 && close(next) == 0 && getrlimit(RLIMIT_NOFILE, before) == 0);
    limit = *before;
    limit.rlim_cur = (rlim_t)(next + more);
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

TEST(tracer_file_makes_do_with_few_descriptors)
{
    struct file file;
    struct rlimit before;
    for (int more = 0; more < 4; more++) {
        int error;
        enter();
        CHECK(mkdir("out", 0700) == 0);
        limit_descriptors(&before, more);
        error = file_open(&file, &config);
        CHECK_INT(error, more < 2 ? EMFILE : 0);
        CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
        CHECK(error == 0 ? access("out/" NAME, F_OK) == 0 : file.fd < 0 && file.dir < 0);
        file_discard(&file);
        leave(); /* nothing stays */
    }
}

/* A program may close the tracer's descriptor and get its number for a file of its own. */
TEST(tracer_file_leaves_a_taken_descriptor_alone)
{
    struct file file, second;
    size_t kept;
    char text[8] = "";
    int theirs, number;
    enter();
    CHECK_INT(file_open(&file, &config), 0);
    CHECK_INT(file_write(&file, "{}\n", 3, &kept), 0);
    second = file;
    CHECK((theirs = open("theirs", O_RDWR | O_CREAT, 0600)) >= 0 &&
          write(theirs, "mine\n", 5) == 5);
    number = file.fd;
    CHECK(dup2(theirs, number) == number);
    CHECK_INT(file_replace(&file, 0, "[]\n", 3), EBADF);
    CHECK_INT(file_write(&second, "[]\n", 3, &kept), EBADF);
    CHECK(kept == 0 && file.fd < 0 && second.fd < 0);
    CHECK(pread(theirs, text, sizeof text, 0) == 5 && memcmp(text, "mine\n", 5) == 0);
    CHECK(close(number) == 0 && close(theirs) == 0 && unlink("theirs") == 0 &&
          unlink("out/" NAME) == 0);
    file_close(&file);
    leave();
}

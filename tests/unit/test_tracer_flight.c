/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "../../tracer/file.h"
#include "specter/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct config config;
static char dir[] = "/tmp/specter-test-XXXXXX";

/* A file in a new folder; closed and removed by leave(). */
static void enter(struct file *f)
{
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    CHECK(mkdtemp(dir) != NULL);
    config_read_from(&config, (const char *const[]){"RANK=0", NULL});
    snprintf(config.output, sizeof config.output, "%s", dir);
    CHECK_INT(file_open(f, &config), 0);
}

static void leave(struct file *f)
{
    file_discard(f);
    CHECK(rmdir(dir) == 0);
}

static int put(struct flight *f, enum flight_band band, uint64_t id)
{
    char line[64];
    int len = snprintf(line, sizeof line, "{\"id\":%d}\n", (int)id);
    return flight_put(f, band, id, line, (size_t)len);
}

/* The ids in a copy of what is there, in order, as text. */
static const char *ids(struct flight *f)
{
    static char text[4096];
    char line[256], *end = text;
    FILE *copy = tmpfile();
    CHECK(copy != NULL);
    CHECK_INT(flight_copy(f, fileno(copy)), 0);
    rewind(copy);
    *end = '\0';
    while (fgets(line, sizeof line, copy) != NULL) {
        int id = -1;
        sscanf(line, "{\"id\":%d}", &id);
        end += sprintf(end, end > text ? " %d" : "%d", id);
    }
    fclose(copy);
    return text;
}

static struct flight flight;

TEST(tracer_flight_keeps_the_last)
{
    struct file file;
    struct stat before, after;
    enter(&file);
    CHECK_INT(flight_open(&flight, &file, 3, 0, "{\"id\":100}\n", 11), 0);
    CHECK(fstat(file.fd, &before) == 0);
    CHECK_STR(ids(&flight), "100");
    for (uint64_t id = 0; id < 8; id++)
        CHECK_INT(put(&flight, FLIGHT_OPS, id), 0);
    CHECK_INT(put(&flight, FLIGHT_ACTS, 50), 0); /* in a band of its own: they push out none */
    CHECK_STR(ids(&flight), "100 50 5 6 7");
    CHECK_INT((int64_t)flight_ops(&flight), 3);
    CHECK_INT((int64_t)flight_gone(&flight), 5);
    CHECK(fstat(file.fd, &after) == 0 && after.st_size == before.st_size);
    CHECK(after.st_blocks * 512 >= after.st_size); /* all of it is there, no holes */
    leave(&file);
}

/* The first byte of a slot in the file. */
static char first_byte(const struct file *file, int band, uint64_t slot)
{
    char byte = '\0';
    off_t at = flight.bands[band].at + (off_t)(slot * flight.bands[band].slot_bytes);
    CHECK(pread(file->fd, &byte, 1, at) == 1);
    return byte;
}

/* Whatever is written next, as much as is ever written at once, replaces none of the lines that are
 * kept: a kill in the middle loses none of them. */
TEST(tracer_flight_nothing_kept_is_written_over)
{
    static const int bands[] = {FLIGHT_OPS, FLIGHT_MARKS, FLIGHT_ACTS, FLIGHT_COMMS};
    for (size_t b = 0; b < sizeof bands / sizeof *bands; b++) {
        struct file file;
        int band = bands[b];
        uint64_t kept = band == FLIGHT_COMMS ? 256 : 100;
        enter(&file);
        CHECK_INT(flight_open(&flight, &file, 100, 0, "{\"id\":100}\n", 11), 0);
        for (uint64_t id = 0; id < 700; id++) {
            uint64_t slots = flight.bands[band].slots, shown = 0;
            uint32_t at_once = FLIGHT_BLOCK / flight.bands[band].slot_bytes;
            CHECK_INT(put(&flight, band, id), 0);
            if (id % 7 != 0 && id % 50 < 40) /* short runs and long ones */
                continue;
            CHECK_INT(flight_sync(&flight), 0);
            for (uint64_t i = 0; i < slots; i++)
                shown += first_byte(&file, band, i) == '{';
            CHECK_INT((int64_t)shown, (int64_t)(id + 1 < kept ? id + 1 : kept));
            for (uint64_t i = 1; i <= at_once; i++)
                CHECK(first_byte(&file, band, (id + i) % slots) != '{');
        }
        leave(&file);
    }
}

TEST(tracer_flight_pending_operations_have_a_place_of_their_own)
{
    struct file file;
    enter(&file);
    CHECK_INT(flight_open(&flight, &file, 2, 0, "{\"id\":100}\n", 11), 0);
    CHECK_INT(put(&flight, FLIGHT_SHOWN, 1), 0);
    CHECK_INT(put(&flight, FLIGHT_SHOWN, 2), 0);
    for (uint64_t id = 3; id < 9; id++)
        CHECK_INT(put(&flight, FLIGHT_OPS, id), 0);
    CHECK_STR(ids(&flight), "100 7 8 1 2");
    CHECK_INT(put(&flight, FLIGHT_OPS, 1), 0);
    CHECK_INT(flight_unshow(&flight, 1), 0);
    CHECK_INT(flight_unshow(&flight, 77), 0); /* never was */
    CHECK_STR(ids(&flight), "100 8 1 2");
    CHECK_INT((int64_t)flight_ops(&flight), 3);
    for (uint64_t id = 0; id + 1 < FLIGHT_PENDING; id++)
        CHECK_INT(put(&flight, FLIGHT_SHOWN, 1000 + id), 0);
    CHECK_INT(put(&flight, FLIGHT_SHOWN, 5000), EAGAIN);
    leave(&file);
}

TEST(tracer_flight_refuses_what_does_not_fit)
{
    static char line[2000];
    struct file file;
    enter(&file);
    CHECK_INT(flight_open(&flight, &file, 1000, 65536, "{}\n", 3), EFBIG);
    CHECK_INT(flight_open(&flight, &file, 10, 0, "{}\n", 3), 0);
    memset(line, '{', sizeof line);
    CHECK_INT(flight_put(&flight, FLIGHT_OPS, 0, line, sizeof line), EMSGSIZE);
    CHECK_INT(flight_put(&flight, FLIGHT_OPS, 0, line, 1024), 0);
    CHECK_INT((int64_t)flight_ops(&flight), 1);
    leave(&file);
}

/* As a kill leaves it between the two writes of a slot. */
TEST(tracer_flight_slots_that_are_being_written_are_passed_over)
{
    struct file file;
    enter(&file);
    CHECK_INT(flight_open(&flight, &file, 4, 0, "{\"id\":100}\n", 11), 0);
    for (uint64_t id = 0; id < 3; id++)
        CHECK_INT(put(&flight, FLIGHT_OPS, id), 0);
    CHECK_INT(flight_sync(&flight), 0);
    CHECK(pwrite(file.fd, "#\"id\":7", 7, flight.bands[FLIGHT_OPS].at + 1024) == 7);
    CHECK_STR(ids(&flight), "100 0 2");
    leave(&file);
}

static void write_request(const struct file *f, const char *text)
{
    int fd = openat(f->dir, SPECTER_DUMP_REQUEST ".new", O_WRONLY | O_CREAT, 0600);
    CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    CHECK(renameat(f->dir, SPECTER_DUMP_REQUEST ".new", f->dir, SPECTER_DUMP_REQUEST) == 0);
}

TEST(tracer_request_is_seen_once_and_names_no_other_place)
{
    static const char *const refused[] = {"dump-a/../..\n", "/tmp\n", "other\n", ""};
    char folder[REQUEST_NAME_MAX];
    struct dump_request q = {0};
    struct file file;
    enter(&file);
    CHECK(!request_poll(&q, &file, folder));
    write_request(&file, "dump-1\n");
    CHECK(!request_poll(&q, &file, folder)); /* too soon after the last look */
    q.polled_ns = 0;
    CHECK(request_poll(&q, &file, folder));
    CHECK_STR(folder, "dump-1");
    q.polled_ns = 0;
    CHECK(!request_poll(&q, &file, folder));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        write_request(&file, refused[i]);
        q = (struct dump_request){.begun = true};
        CHECK(!request_poll(&q, &file, folder));
    }
    write_request(&file, "dump-1\n");
    q = (struct dump_request){0}; /* of a process that begins now */
    CHECK(!request_poll(&q, &file, folder));
    q.polled_ns = 0;
    CHECK(!request_poll(&q, &file, folder));
    CHECK(mkdirat(file.dir, "dump-2", 0700) == 0);
    CHECK_INT(request_answer(&file, "dump-2", NULL, NULL), 0);
    CHECK_INT(request_answer(&file, "dump-2", NULL, NULL), EEXIST); /* never overwritten */
    CHECK_INT(request_answer(&file, "dump-3", NULL, NULL), ENOENT);
    CHECK(unlinkat(file.dir, "dump-2/specter_trace_rank0.jsonl", 0) == 0);
    CHECK(unlinkat(file.dir, "dump-2", AT_REMOVEDIR) == 0);
    CHECK(unlinkat(file.dir, SPECTER_DUMP_REQUEST, 0) == 0);
    leave(&file);
}

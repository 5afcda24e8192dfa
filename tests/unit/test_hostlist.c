/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "base/buf.h"
#include "trace/job.h"

#include <string.h>

static void put_name(void *out, const char *name)
{
    struct buf *b = out;
    buf_printf(b, "%s%s", b->len > 0 ? " " : "", name);
}

static void put_tasks(void *out, int64_t tasks)
{
    struct buf *b = out;
    buf_printf(b, "%s%lld", b->len > 0 ? " " : "", (long long)tasks);
}

static void check_names(const char *list, const char *want)
{
    struct buf b = BUF_INIT;
    CHECK_INT(hostlist_expand(list, strlen(list), put_name, &b), want != NULL ? 0 : -1);
    if (want != NULL)
        CHECK_STR(b.data, want);
    buf_release(&b);
}

static void check_tasks(const char *list, const char *want)
{
    struct buf b = BUF_INIT;
    CHECK_INT(tasklist_expand(list, strlen(list), put_tasks, &b), want != NULL ? 0 : -1);
    if (want != NULL)
        CHECK_STR(b.data, want);
    buf_release(&b);
}

/* `scontrol show hostnames` of Slurm 22.05 gives the same names for these lists. */
TEST(hostlist_names)
{
    check_names("nid[001-003,007],x1", "nid001 nid002 nid003 nid007 x1");
    check_names("r[1-2]n[09-10]-ib", "r1n09-ib r1n10-ib r2n09-ib r2n10-ib");
    check_names("n[9-11]", "n9 n10 n11");
    check_names("localhost", "localhost");
}

TEST(hostlist_of_what_is_none)
{
    check_names("", NULL);
    check_names("n[1-2", NULL);
    check_names("n]1[", NULL);
    check_names("n[2-1]", NULL);
    check_names("n[a-b]", NULL);
    check_names("n[1,,2]", NULL);
    check_names("a,,b", NULL);
    check_names("$(hostname)", NULL);
    check_names("n[0-99999999999]", NULL);
    check_names("n[0-999][0-999]", NULL); /* a million names */
    check_names("n[]", NULL);
    check_names("n[1,]", NULL);
    check_names("n[0-65535][0-65535][]", NULL); /* no names, four thousand million times */
}

TEST(tasklist_of_nodes)
{
    check_tasks("4(x2),3", "4 4 3");
    check_tasks("8", "8");
    check_tasks("3,1", "3 1");
    check_tasks("", NULL);
    check_tasks("4(x", NULL);
    check_tasks("4(x0)", NULL);
    check_tasks("4(x99999999)", NULL);
    check_tasks("x", NULL);
}

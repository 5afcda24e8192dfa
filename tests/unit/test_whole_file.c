/* SPDX-License-Identifier: MIT */
#include "base/err.h"
#include "base/whole_file.h"
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    char folder[32], path[64], other[64];
};

static void place_init(struct place *p)
{
    snprintf(p->folder, sizeof p->folder, "/tmp/whole_file.XXXXXX");
    CHECK(mkdtemp(p->folder) != NULL);
    snprintf(p->path, sizeof p->path, "%s/out", p->folder);
    snprintf(p->other, sizeof p->other, "%s/other", p->folder);
}

/* Removes the place, in which `want` files must be. */
static void place_release(struct place *p, int want)
{
    DIR *dir = opendir(p->folder);
    int n = 0;
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        n += entry->d_name[0] != '.';
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(dir), entry->d_name, 0);
    }
    CHECK_INT(n, want);
    if (dir != NULL)
        closedir(dir);
    CHECK_INT(rmdir(p->folder), 0);
}

static void put(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    CHECK(out != NULL && fputs(text, out) >= 0 && fclose(out) == 0);
}

static void check_text(const char *path, const char *want)
{
    char text[64] = "";
    FILE *in = fopen(path, "r");
    CHECK(in != NULL);
    if (in == NULL)
        return;
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    CHECK_STR(text, want);
}

TEST(whole_file_appears_when_closed)
{
    struct err e = {0};
    struct whole_file f;
    struct place p;
    place_init(&p);
    CHECK_INT(whole_file_open(&f, p.path, &e), 0);
    CHECK(access(p.path, F_OK) != 0);
    fputs("new", f.out);
    CHECK_INT(whole_file_close(&f, &e), 0);
    check_text(p.path, "new");
    place_release(&p, 1);
}

TEST(whole_file_replaces_and_keeps_the_mode)
{
    struct err e = {0};
    struct whole_file f;
    struct place p;
    struct stat st = {0};
    place_init(&p);
    put(p.path, "old");
    CHECK_INT(chmod(p.path, 0640), 0);
    CHECK_INT(whole_file_open(&f, p.path, &e), 0);
    fputs("new", f.out);
    fflush(f.out);
    check_text(p.path, "old");
    CHECK_INT(whole_file_close(&f, &e), 0);
    check_text(p.path, "new");
    CHECK_INT(stat(p.path, &st), 0);
    CHECK_INT(st.st_mode & 07777, 0640);
    place_release(&p, 1);
}

TEST(whole_file_discarded_leaves_the_old_one)
{
    struct err e = {0};
    struct whole_file f;
    struct place p;
    place_init(&p);
    put(p.path, "old");
    CHECK_INT(whole_file_open(&f, p.path, &e), 0);
    fputs("new", f.out);
    whole_file_discard(&f);
    check_text(p.path, "old");
    place_release(&p, 1);
}

TEST(whole_file_writes_through_a_link)
{
    struct err e = {0};
    struct whole_file f;
    struct place p;
    struct stat st = {0};
    place_init(&p);
    put(p.other, "old");
    CHECK_INT(symlink("other", p.path), 0);
    CHECK_INT(whole_file_open(&f, p.path, &e), 0);
    fputs("new", f.out);
    CHECK_INT(whole_file_close(&f, &e), 0);
    check_text(p.other, "new");
    CHECK(lstat(p.path, &st) == 0 && S_ISLNK(st.st_mode));
    place_release(&p, 2);
}

/* The longest name a folder takes has no room for the name beside it. */
TEST(whole_file_of_the_longest_name)
{
    struct err e = {0};
    struct whole_file f;
    struct place p;
    char path[320];
    place_init(&p);
    snprintf(path, sizeof path, "%s/%0255d", p.folder, 0);
    CHECK_INT(whole_file_open(&f, path, &e), 0);
    fputs("new", f.out);
    CHECK_INT(whole_file_close(&f, &e), 0);
    check_text(path, "new");
    place_release(&p, 1);
}

TEST(whole_file_tells_what_cannot_be_written)
{
    struct err e = {0};
    struct whole_file f;
    CHECK_INT(whole_file_open(&f, "nowhere/at/all", &e), -1);
    CHECK_INT(e.code, ERR_INPUT);
    CHECK_HAS(e.msg, "cannot write 'nowhere/at/all': No such file");
    if (access("/dev/full", W_OK) != 0)
        return;
    CHECK_INT(whole_file_open(&f, "/dev/full", &e), 0);
    fputs("new", f.out);
    CHECK_INT(whole_file_close(&f, &e), -1);
    CHECK_HAS(e.msg, "cannot write '/dev/full': No space left");
}

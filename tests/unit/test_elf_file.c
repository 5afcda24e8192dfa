/* SPDX-License-Identifier: MIT */
#include "base/elf_file.h"
#include "base/err.h"
#include "test.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_needed(const struct elf_file *f, const char *prefix)
{
    const char *name;
    for (size_t i = 0; (name = elf_file_needed(f, i)) != NULL; i++) {
        if (strncmp(name, prefix, strlen(prefix)) == 0)
            return true;
    }
    return false;
}

/* Of this very program. */
TEST(elf_file_reads_a_program)
{
    struct elf_file f;
    struct err e = {0};
    CHECK_INT(elf_file_open(&f, "/proc/self/exe", &e), 0);
    CHECK(f.dynamic && !f.foreign && f.interpreter != NULL);
    CHECK_INT(f.bits, 8 * sizeof(void *));
    CHECK(is_needed(&f, "libc."));
    CHECK(!is_needed(&f, "libnccl"));
    CHECK(elf_file_defines(&f, "main"));
    CHECK(!elf_file_defines(&f, "no_such_function"));
    CHECK(!elf_file_defines(&f, "ftruncate")); /* used, but libc's */
    CHECK(elf_file_glibc(&f, NULL) == 0 || elf_file_glibc(&f, NULL) > 2000);
    CHECK_INT(elf_file_glibc(&f, "libnone.so.1"), 0);
    CHECK_INT(elf_file_glibc_provided(&f), 0);
    elf_file_close(&f);
}

TEST(elf_file_refuses_others)
{
    struct elf_file f;
    struct err e = {0};
    CHECK_INT(elf_file_open(&f, "/no/such/file", &e), -1);
    CHECK_HAS(e.msg, "cannot read '/no/such/file': No such file");
    CHECK_INT(elf_file_open(&f, "/dev/null", &e), -1);
    CHECK_HAS(e.msg, "is no ELF file");
    CHECK_INT(elf_file_open(&f, "/", &e), -1);
}

static void ask_symbols(const struct elf_file *f)
{
    struct elf_symbol s;
    for (size_t i = 0; elf_file_symbol(f, i, &s); i++) {
        if (strcmp(s.name, "fork") == 0)
            elf_file_takes_address(f, i);
    }
}

static void ask_everything(const char *path)
{
    struct elf_file f;
    if (elf_file_open(&f, path, NULL) < 0)
        return;
    is_needed(&f, "x");
    elf_file_defines(&f, "main");
    elf_file_glibc(&f, NULL);
    elf_file_glibc_provided(&f);
    ask_symbols(&f);
    elf_file_close(&f);
}

/* The head of a file, where its tables are described, with one byte after the other turned over;
 * and cut short. Only that nothing is read out of bounds. */
TEST(elf_file_bears_damage)
{
    enum { HEAD = 1024 };
    char path[] = "/tmp/specter-test-XXXXXX";
    static unsigned char head[65536];
    int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), out = mkstemp(path);
    ssize_t len = in >= 0 ? read(in, head, sizeof head) : 0;
    CHECK(out >= 0 && len > HEAD);
    for (int i = 4; i < HEAD; i += 3) {
        head[i] ^= 0xff;
        CHECK(pwrite(out, head, (size_t)len, 0) == len);
        ask_everything(path);
        head[i] ^= 0xff;
    }
    for (off_t size = HEAD; size >= 0; size -= 16) {
        CHECK(ftruncate(out, size) == 0);
        ask_everything(path);
    }
    close(in);
    close(out);
    unlink(path);
}

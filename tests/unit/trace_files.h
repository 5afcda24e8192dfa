/* SPDX-License-Identifier: MIT
 *
 * For tests of what reads files: a scratch folder, files in it, gzip and tar made by hand.
 */
#ifndef SPECTER_TRACE_FILES_H
#define SPECTER_TRACE_FILES_H

#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zlib.h>

/* $TMPDIR, else memory where there is plenty of it, else /tmp. */
static inline const char *temporary_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    struct statvfs fs;
    if (tmp != NULL)
        return tmp;
    return access("/dev/shm", W_OK) == 0 && statvfs("/dev/shm", &fs) == 0 &&
                   (uint64_t)fs.f_bavail * fs.f_frsize > UINT64_C(1) << 30
               ? "/dev/shm"
               : "/tmp";
}

/* A new folder there. remove_folder() deletes it with the files in it. */
static inline const char *make_folder(void)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/specter-test-XXXXXX", temporary_folder());
    return mkdtemp(path);
}

static inline const char *file_in(const char *folder, const char *name)
{
    static char path[2][4352];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static inline void write_file(const char *folder, const char *name, const void *bytes, size_t len)
{
    FILE *f = fopen(file_in(folder, name), "w");
    if (f == NULL || fwrite(bytes, 1, len, f) != len || fclose(f) != 0)
        abort();
}

static inline void write_text(const char *folder, const char *name, const char *text)
{
    write_file(folder, name, text, strlen(text));
}

/* Returns the bytes of the file, with a NUL after them; NULL when it cannot be read, or path is
 * NULL. The caller frees it. */
static inline char *read_whole(const char *path, size_t *len)
{
    FILE *f = path != NULL ? fopen(path, "rb") : NULL;
    struct buf text = BUF_INIT;
    if (f == NULL)
        return NULL;
    for (size_t n = 1; n > 0; text.len += n)
        n = fread(buf_reserve(&text, 1 << 16), 1, 1 << 16, f);
    fclose(f);
    if (len != NULL)
        *len = text.len;
    buf_putc(&text, '\0');
    return text.data;
}

static inline void remove_folder(const char *folder)
{
    char command[4200];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        abort();
}

/* Appends the bytes as one member of a .gz. */
static inline void put_gzip(struct buf *out, const void *bytes, size_t len)
{
    z_stream z = {0};
    if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    z.next_in = (unsigned char *)(uintptr_t)bytes;
    z.avail_in = (uInt)len;
    z.next_out = (unsigned char *)buf_reserve(out, deflateBound(&z, len));
    z.avail_out = (uInt)deflateBound(&z, len);
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    out->len += z.total_out;
    deflateEnd(&z);
}

/* Appends a tar header alone; the checksum is made to fit. */
static inline void put_tar_header(struct buf *out, const char *name, char type, size_t size)
{
    char *h = buf_reserve(out, 512), octal[32];
    unsigned sum = 0;
    memset(h, 0, 512);
    memcpy(h, name, strnlen(name, 100));
    snprintf(h + 100, 8, "%07o", 0644u);
    snprintf(octal, sizeof octal, "%011zo", size);
    memcpy(h + 124, octal, 12);
    h[156] = type;
    memcpy(h + 257, "ustar\00000", 8);
    memset(h + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)h[i];
    snprintf(octal, sizeof octal, "%06o", sum);
    memcpy(h + 148, octal, 7);
    out->len += 512;
}

/* Appends a member with its content, padded to blocks. */
static inline void put_tar(struct buf *out, const char *name, char type, const char *text)
{
    static const char zeroes[512];
    size_t len = strlen(text);
    put_tar_header(out, name, type, len);
    buf_put(out, text, len);
    buf_put(out, zeroes, (512 - len % 512) % 512);
}

static inline void put_tar_end(struct buf *out)
{
    static const char zeroes[1024];
    buf_put(out, zeroes, sizeof zeroes);
}

#endif

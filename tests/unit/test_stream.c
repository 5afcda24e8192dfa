/* SPDX-License-Identifier: MIT */
#include "base/stream.h"

#include "base/err.h"
#include "test.h"
#include "trace_files.h"

/* Everything the stream yields, in pieces of `piece` bytes; NULL or the error's message. */
static const char *read_all(struct stream *s, size_t piece, struct buf *out)
{
    static struct err e;
    ssize_t n;
    buf_reset(out);
    while ((n = stream_read(s, buf_reserve(out, piece), piece, &e)) > 0)
        out->len += (size_t)n;
    out->data[out->len] = '\0';
    return n < 0 ? e.msg : NULL;
}

static const char *read_path(const char *path, size_t piece, struct buf *out)
{
    static struct err e;
    struct stream *s;
    const char *error;
    buf_reset(out);
    if (stream_open(&s, path, &e) < 0)
        return e.msg;
    error = read_all(s, piece, out);
    stream_close(s);
    return error;
}

/* Text that neither compresses to nothing nor fits a buffer. */
static void put_sample(struct buf *out, size_t len)
{
    unsigned x = 12345;
    while (out->len < len) {
        x = x * 1664525 + 1013904223;
        buf_printf(out, "%u %x\n", x >> 20, x);
    }
}

TEST(stream_plain_and_gzip)
{
    const char *folder = make_folder();
    struct buf text = BUF_INIT, packed = BUF_INIT, got = BUF_INIT;
    put_sample(&text, 300000);
    put_gzip(&packed, text.data, text.len);
    write_file(folder, "plain", text.data, text.len);
    write_file(folder, "packed", packed.data, packed.len);
    for (size_t piece = 1000; piece < 2000000; piece *= 40) {
        CHECK(read_path(file_in(folder, "plain"), piece, &got) == NULL);
        CHECK(got.len == text.len && memcmp(got.data, text.data, text.len) == 0);
        CHECK(read_path(file_in(folder, "packed"), piece, &got) == NULL);
        CHECK(got.len == text.len && memcmp(got.data, text.data, text.len) == 0);
    }
    remove_folder(folder);
    buf_release(&text);
    buf_release(&packed);
    buf_release(&got);
}

TEST(stream_peek_does_not_consume)
{
    const char *folder = make_folder(), *head;
    struct buf text = BUF_INIT, got = BUF_INIT;
    struct stream *s;
    struct err e;
    put_sample(&text, 100000);
    write_file(folder, "plain", text.data, text.len);
    CHECK_INT(stream_open(&s, file_in(folder, "plain"), &e), 0);
    CHECK_INT(stream_peek(s, &head, &e), (int64_t)STREAM_PEEK);
    CHECK(memcmp(head, text.data, STREAM_PEEK) == 0);
    CHECK_INT(stream_read(s, buf_reserve(&got, 10), 10, &e), 10);
    CHECK_INT(stream_peek(s, &head, &e), (int64_t)STREAM_PEEK);
    CHECK(memcmp(head, text.data + 10, STREAM_PEEK) == 0);
    CHECK(read_all(s, 70000, &got) == NULL);
    CHECK_INT(got.len, text.len - 10);
    CHECK(memcmp(got.data, text.data + 10, got.len) == 0);
    CHECK_INT(stream_peek(s, &head, &e), 0);
    stream_close(s);
    remove_folder(folder);
    buf_release(&text);
    buf_release(&got);
}

TEST(stream_gzip_members)
{
    const char *folder = make_folder();
    struct buf packed = BUF_INIT, got = BUF_INIT;
    put_gzip(&packed, "one ", 4);
    put_gzip(&packed, "", 0);
    put_gzip(&packed, "two", 3);
    write_file(folder, "two.gz", packed.data, packed.len);
    CHECK(read_path(file_in(folder, "two.gz"), 100, &got) == NULL);
    CHECK_STR(got.data, "one two");
    buf_put(&packed, "\0\0\0\0", 4); /* a tape's padding */
    write_file(folder, "padded.gz", packed.data, packed.len);
    CHECK(read_path(file_in(folder, "padded.gz"), 100, &got) == NULL);
    CHECK_STR(got.data, "one two");
    buf_put(&packed, "junk", 4);
    write_file(folder, "junk.gz", packed.data, packed.len);
    CHECK_HAS(read_path(file_in(folder, "junk.gz"), 100, &got),
              "junk.gz: something other than gzip data follows at byte ");
    CHECK_STR(got.data, "one two");
    remove_folder(folder);
    buf_release(&packed);
    buf_release(&got);
}

TEST(stream_gzip_cut_and_flipped_everywhere)
{
    const char *folder = make_folder();
    struct buf text = BUF_INIT, packed = BUF_INIT, got = BUF_INIT;
    size_t wrong = 0;
    put_sample(&text, 400);
    put_gzip(&packed, text.data, text.len);
    for (size_t n = 2; n < packed.len; n++) {
        write_file(folder, "cut.gz", packed.data, n);
        CHECK_HAS(read_path(file_in(folder, "cut.gz"), 64, &got), "cut.gz: gzip data is cut off");
        CHECK(got.len <= text.len && memcmp(got.data, text.data, got.len) == 0);
    }
    for (size_t at = 10; at < packed.len; at++) { /* after the header, parts of which are free */
        packed.data[at] ^= 0x10;
        write_file(folder, "flip.gz", packed.data, packed.len);
        wrong += read_path(file_in(folder, "flip.gz"), 64, &got) == NULL;
        packed.data[at] ^= 0x10;
    }
    CHECK_INT(wrong, 0);
    remove_folder(folder);
    buf_release(&text);
    buf_release(&packed);
    buf_release(&got);
}

/* ---- zstd ---- */

#ifdef SPECTER_HAVE_ZSTD
#include <zstd.h>

static void put_zstd(struct buf *out, const void *bytes, size_t len)
{
    size_t bound = ZSTD_compressBound(len);
    size_t n = ZSTD_compress(buf_reserve(out, bound), bound, bytes, len, 3);
    if (ZSTD_isError(n))
        abort();
    out->len += n;
}

TEST(stream_zstd_frames)
{
    static const char skipped[] = "\x52\x2a\x4d\x18\x03\0\0\0abc";
    const char *folder = make_folder();
    struct buf text = BUF_INIT, packed = BUF_INIT, got = BUF_INIT;
    put_sample(&text, 300000);
    buf_put(&packed, skipped, sizeof skipped - 1);
    put_zstd(&packed, text.data, 100000);
    put_zstd(&packed, "", 0);
    put_zstd(&packed, text.data + 100000, text.len - 100000);
    buf_put(&packed, skipped, sizeof skipped - 1);
    write_file(folder, "packed", packed.data, packed.len);
    for (size_t piece = 1; piece < 2000000; piece = piece * 40 + 60) {
        CHECK(read_path(file_in(folder, "packed"), piece, &got) == NULL);
        CHECK(got.len == text.len && memcmp(got.data, text.data, text.len) == 0);
    }
    buf_puts(&packed, "no zstd data");
    write_file(folder, "junk", packed.data, packed.len);
    CHECK_HAS(read_path(file_in(folder, "junk"), 1000, &got), "zstd data");
    CHECK_INT(got.len, text.len);
    write_file(folder, "head", "\x28\xb5\x2f\xfd....", 8);
    CHECK_HAS(read_path(file_in(folder, "head"), 64, &got), "zstd data");
    remove_folder(folder);
    buf_release(&text);
    buf_release(&packed);
    buf_release(&got);
}

TEST(stream_zstd_cut_and_flipped_everywhere)
{
    const char *folder = make_folder();
    struct buf text = BUF_INIT, packed = BUF_INIT, got = BUF_INIT;
    put_sample(&text, 400);
    put_zstd(&packed, text.data, text.len);
    for (size_t n = 4; n < packed.len; n++) {
        write_file(folder, "cut.zst", packed.data, n);
        CHECK_HAS(read_path(file_in(folder, "cut.zst"), 64, &got),
                  "cut.zst: zstd data is cut off at byte ");
        CHECK(got.len <= text.len && memcmp(got.data, text.data, got.len) == 0);
    }
    for (size_t at = 4; at < packed.len; at++) { /* without a checksum a flip can pass: no crash */
        packed.data[at] ^= 0x10;
        write_file(folder, "flip.zst", packed.data, packed.len);
        read_path(file_in(folder, "flip.zst"), 64, &got);
        packed.data[at] ^= 0x10;
    }
    remove_folder(folder);
    buf_release(&text);
    buf_release(&packed);
    buf_release(&got);
}

TEST(stream_zstd_bomb)
{
    const char *folder = make_folder();
    struct buf packed = BUF_INIT, got = BUF_INIT;
    char *zeroes = calloc(1, 64 << 20);
    put_zstd(&packed, zeroes, 64 << 20);
    write_file(folder, "bomb.zst", packed.data, packed.len);
    CHECK_HAS(read_path(file_in(folder, "bomb.zst"), 1 << 20, &got),
              "bomb.zst: inflates more than 1100-fold");
    CHECK(got.len < 32 << 20);
    free(zeroes);
    remove_folder(folder);
    buf_release(&packed);
    buf_release(&got);
}

TEST(stream_zstd_tar)
{
    const char *folder = make_folder(), *name;
    struct buf tar = BUF_INIT, packed = BUF_INIT, got = BUF_INIT;
    struct stream *s;
    struct err e;
    put_tar(&tar, "a/b", '0', "hello");
    put_tar_end(&tar);
    put_zstd(&packed, tar.data, tar.len);
    write_file(folder, "t", packed.data, packed.len);
    CHECK_INT(stream_open(&s, file_in(folder, "t"), &e), 0);
    CHECK(stream_is_tar(s));
    CHECK_INT(stream_tar_next(s, &name, &e), 1);
    CHECK_STR(name, "a/b");
    CHECK(read_all(s, 100, &got) == NULL);
    CHECK_STR(got.data, "hello");
    CHECK_INT(stream_tar_next(s, &name, &e), 0);
    stream_close(s);
    remove_folder(folder);
    buf_release(&tar);
    buf_release(&packed);
    buf_release(&got);
}
#else
TEST(stream_without_zstd)
{
    const char *folder = make_folder();
    struct buf got = BUF_INIT;
    write_file(folder, "x.zst", "\x28\xb5\x2f\xfd....", 8);
    CHECK_HAS(read_path(file_in(folder, "x.zst"), 64, &got),
              "x.zst: packed with zstd, which this build of specter lacks");
    remove_folder(folder);
    buf_release(&got);
}
#endif

TEST(stream_open_errors)
{
    const char *folder = make_folder();
    struct buf got = BUF_INIT;
    CHECK_HAS(read_path(file_in(folder, "none"), 64, &got), "none: No such file or directory");
    CHECK_HAS(read_path(folder, 64, &got), "Is a directory");
    write_text(folder, "empty", "");
    CHECK(read_path(file_in(folder, "empty"), 64, &got) == NULL);
    CHECK_INT(got.len, 0);
    CHECK_HAS(read_path(file_in(folder, "no\033[2Jne"), 64, &got), "no?[2Jne: No such file");
    remove_folder(folder);
    buf_release(&got);
}

/* ---- tar ---- */

/* "name=content;" of each member, then the error if there is one. */
static const char *list_tar(const char *path, struct buf *out)
{
    struct err e;
    struct stream *s;
    struct buf content = BUF_INIT;
    const char *name, *error;
    int rc;
    buf_reset(out);
    if (stream_open(&s, path, &e) < 0)
        return "cannot open";
    while ((rc = stream_tar_next(s, &name, &e)) > 0) {
        buf_printf(out, "%s=", name);
        error = read_all(s, 100, &content);
        buf_put(out, content.data, content.len);
        if (error != NULL)
            buf_printf(out, "!%s", error);
        buf_putc(out, ';');
    }
    if (rc < 0)
        buf_printf(out, "!%s", e.msg);
    buf_release(&content);
    stream_close(s);
    return out->data;
}

static void put_members(struct buf *tar)
{
    put_tar(tar, "folder/", '5', "");
    put_tar(tar, "folder/a.json", '0', "first");
    put_tar(tar, "link", '2', "");
    put_tar(tar, "empty", '0', "");
    put_tar(tar, "././@LongLink", 'L', "a/name/that/only/a/GNU/header/holds.json");
    put_tar(tar, "a/name/that/only/a/G", '0', "second");
    put_tar(tar, "pax", 'x', "22 mtime=1234567890.5\n29 path=by/a/pax/header.json\n");
    put_tar(tar, "by/a/p", '0', "third");
    put_tar(tar, "pax_global", 'g', "52 comment=0123456789012345678901234567890123456789\n");
    put_tar(tar, "old", '\0', "fourth");
    put_tar_end(tar);
}

static const char members[] = "folder/a.json=first;empty=;"
                              "a/name/that/only/a/GNU/header/holds.json=second;"
                              "by/a/pax/header.json=third;old=fourth;";

TEST(stream_tar)
{
    const char *folder = make_folder();
    struct buf tar = BUF_INIT, packed = BUF_INIT, got = BUF_INIT;
    put_members(&tar);
    write_file(folder, "a.tar", tar.data, tar.len);
    CHECK_STR(list_tar(file_in(folder, "a.tar"), &got), members);
    put_gzip(&packed, tar.data, tar.len);
    write_file(folder, "a.tar.gz", packed.data, packed.len);
    CHECK_STR(list_tar(file_in(folder, "a.tar.gz"), &got), members);
    write_file(folder, "noend.tar", tar.data, tar.len - 1024);
    CHECK_STR(list_tar(file_in(folder, "noend.tar"), &got), members);
    remove_folder(folder);
    buf_release(&tar);
    buf_release(&packed);
    buf_release(&got);
}

TEST(stream_tar_prefix)
{
    const char *folder = make_folder();
    struct buf tar = BUF_INIT, got = BUF_INIT;
    char *header;
    unsigned sum = 0;
    put_tar(&tar, "name", '0', "text");
    header = tar.data;
    memcpy(header + 345, "long/prefix", 11);
    memset(header + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)header[i];
    snprintf(header + 148, 7, "%06o", sum);
    write_file(folder, "a.tar", tar.data, tar.len);
    CHECK_STR(list_tar(file_in(folder, "a.tar"), &got), "long/prefix/name=text;");
    remove_folder(folder);
    buf_release(&tar);
    buf_release(&got);
}

TEST(stream_tar_label)
{
    const char *folder = make_folder(), *name;
    struct buf tar = BUF_INIT;
    struct stream *s;
    struct err e;
    put_tar(&tar, "a\033b", '0', "x");
    write_file(folder, "a.tar", tar.data, tar.len);
    CHECK_INT(stream_open(&s, file_in(folder, "a.tar"), &e), 0);
    CHECK(stream_is_tar(s));
    CHECK_INT(stream_tar_next(s, &name, &e), 1);
    CHECK_HAS(stream_label(s), "/a.tar:a?b");
    stream_close(s);
    remove_folder(folder);
    buf_release(&tar);
}

TEST(stream_tar_hostile)
{
    const char *folder = make_folder();
    struct buf tar = BUF_INIT, got = BUF_INIT;
    put_tar(&tar, "good", '0', "x");
    put_tar_header(&tar, "huge", '0', (size_t)4 << 30);
    write_file(folder, "huge.tar", tar.data, tar.len);
    CHECK_HAS(list_tar(file_in(folder, "huge.tar"), &got), "good=x;huge=!");
    CHECK_HAS(got.data, "the archive is cut off at byte 1536 of the archive");
    buf_reset(&tar);
    put_tar(&tar, "good", '0', "x");
    put_tar_header(&tar, "long", 'L', (size_t)1 << 30);
    write_file(folder, "long.tar", tar.data, tar.len);
    CHECK_HAS(list_tar(file_in(folder, "long.tar"), &got), "oversized extended header");
    buf_reset(&tar);
    put_tar(&tar, "good", '0', "x");
    put_tar(&tar, "pax", 'x', "99999999999999999999 path=x\n");
    write_file(folder, "pax.tar", tar.data, tar.len);
    CHECK_HAS(list_tar(file_in(folder, "pax.tar"), &got), "damaged extended header");
    buf_reset(&tar);
    put_tar(&tar, "good", '0', "x");
    buf_put(&tar, "this is no header", 17);
    buf_put(&tar, (char[495]){0}, 495);
    write_file(folder, "junk.tar", tar.data, tar.len);
    CHECK_HAS(list_tar(file_in(folder, "junk.tar"), &got), "good=x;!");
    CHECK_HAS(got.data, "damaged member header before at byte 1536");
    remove_folder(folder);
    buf_release(&tar);
    buf_release(&got);
}

/* Whatever is cut or flipped: no crash, and what is yielded before is the truth. */
TEST(stream_tar_cut_and_flipped)
{
    const char *folder = make_folder();
    struct buf tar = BUF_INIT, got = BUF_INIT;
    put_members(&tar);
    for (size_t n = 512; n < tar.len - 1024; n += 37) {
        write_file(folder, "cut.tar", tar.data, n);
        list_tar(file_in(folder, "cut.tar"), &got);
        CHECK(n % 512 == 0 || strstr(got.data, "cut off") != NULL);
    }
    for (size_t at = 512; at < tar.len; at += 3) {
        tar.data[at] ^= 0x41;
        write_file(folder, "flip.tar", tar.data, tar.len);
        list_tar(file_in(folder, "flip.tar"), &got);
        CHECK(got.len < 2000);
        tar.data[at] ^= 0x41;
    }
    remove_folder(folder);
    buf_release(&tar);
    buf_release(&got);
}

TEST(stream_tar_gzip_damage_behind_the_end)
{
    const char *folder = make_folder();
    struct buf tar = BUF_INIT, packed = BUF_INIT, got = BUF_INIT;
    put_members(&tar);
    put_gzip(&packed, tar.data, tar.len);
    packed.data[packed.len - 6] ^= 1; /* the checksum */
    write_file(folder, "a.tar.gz", packed.data, packed.len);
    CHECK_HAS(list_tar(file_in(folder, "a.tar.gz"), &got), "old=fourth;!");
    CHECK_HAS(got.data, "damaged gzip data at byte ");
    remove_folder(folder);
    buf_release(&tar);
    buf_release(&packed);
    buf_release(&got);
}

/* ---- packed members of a tar ---- */

static void put_tar_bytes(struct buf *tar, const char *name, const struct buf *content)
{
    put_tar_header(tar, name, '0', content->len);
    buf_put(tar, content->data, content->len);
    while (tar->len % 512 != 0)
        buf_putc(tar, '\0');
}

/* As a folder of .json.gz goes into an archive. One that is damaged leaves the others alone. */
TEST(stream_tar_packed_members)
{
    const char *folder = make_folder();
    struct buf tar = BUF_INIT, packed = BUF_INIT, got = BUF_INIT, text = BUF_INIT;
    put_gzip(&packed,
             "\xef\xbb\xbf"
             "first",
             8);
    put_tar_bytes(&tar, "a.gz", &packed);
    put_tar(&tar, "plain", '0', "second");
    packed.data[packed.len - 6] ^= 1; /* the checksum */
    put_tar_bytes(&tar, "bad.gz", &packed);
    buf_reset(&packed);
    put_gzip(&packed, "third", 5);
    packed.len -= 9;
    put_tar_bytes(&tar, "cut.gz", &packed);
    put_tar(&tar, "two", '0', "\x1f\x8b");
    put_sample(&text, 300000);
    buf_reset(&packed);
    put_gzip(&packed, text.data, text.len);
    put_tar_bytes(&tar, "long.gz", &packed);
    put_tar_end(&tar);
    write_file(folder, "a.tar", tar.data, tar.len);
    list_tar(file_in(folder, "a.tar"), &got);
    CHECK_HAS(got.data, "a.gz=first;plain=second;bad.gz=first!");
    CHECK_HAS(got.data, "a.tar:bad.gz: damaged gzip data at byte ");
    CHECK_HAS(got.data, "a.tar:cut.gz: gzip data is cut off at byte ");
    CHECK_HAS(got.data, ";two=!");
    CHECK_HAS(got.data, ";long.gz=");
    CHECK_HAS(got.data, text.data);
    buf_reset(&packed);
    put_gzip(&packed, tar.data, tar.len);
    write_file(folder, "a.tar.gz", packed.data, packed.len);
    list_tar(file_in(folder, "a.tar.gz"), &got);
    CHECK_HAS(got.data, text.data);
    remove_folder(folder);
    buf_release(&tar);
    buf_release(&packed);
    buf_release(&got);
    buf_release(&text);
}

/* Members that unpack to little enough each, and in an archive that is packed again to too much. */
TEST(stream_tar_packed_bomb)
{
    const char *folder = make_folder();
    struct buf tar = BUF_INIT, packed = BUF_INIT, got = BUF_INIT;
    char *zeroes = calloc(1, 4 << 20);
    put_gzip(&packed, zeroes, 4 << 20);
    for (int i = 0; i < 100; i++)
        put_tar_bytes(&tar, "zeroes.gz", &packed);
    put_tar_end(&tar);
    buf_reset(&packed);
    put_gzip(&packed, tar.data, tar.len);
    write_file(folder, "bomb.tar.gz", packed.data, packed.len);
    list_tar(file_in(folder, "bomb.tar.gz"), &got);
    CHECK(memmem(got.data, got.len, "inflates more than 1100-fold", 28) != NULL);
    CHECK(got.len < (size_t)64 << 20);
    free(zeroes);
    remove_folder(folder);
    buf_release(&tar);
    buf_release(&packed);
    buf_release(&got);
}

/* A line that is too long stays so where the byte at which it is cut is a carriage return. */
TEST(lines_cut_at_a_carriage_return)
{
    const char *folder = make_folder();
    struct stream *s;
    struct lines l;
    struct err e;
    write_text(folder, "f", "1234567\rxyz");
    CHECK_INT(stream_open(&s, file_in(folder, "f"), &e), 0);
    lines_init(&l, s, 8);
    CHECK_INT(lines_next(&l, &e), 1);
    CHECK(l.too_long);
    CHECK_INT(lines_next(&l, &e), 0);
    lines_release(&l);
    stream_close(s);
    remove_folder(folder);
}

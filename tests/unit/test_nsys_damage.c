/* SPDX-License-Identifier: MIT
 *
 * Exports of Nsight Systems that are compressed, damaged, or meant to do damage.
 */
#include "trace_load.h"

#ifdef SPECTER_HAVE_SQLITE

#include "made_nsys.h"
#include "trace/nsys.h"

TEST(nsys_compressed)
{
    const char *folder;
    struct buf sql = BUF_INIT, packed = BUF_INIT;
    struct run run;
    char *bytes;
    size_t len = 0;
    if (!nsys_db_reads_compressed())
        SKIP("SQLite without sqlite3_deserialize");
    folder = make_folder();
    put_two_ranks(&sql);
    nsys_write(folder, "report.sqlite", "PRAGMA journal_mode=WAL;");
    nsys_write(folder, "report.sqlite", sql.data);
    bytes = read_whole(file_in(folder, "report.sqlite"), &len);
    put_gzip(&packed, bytes, len);
    free(bytes);
    remove_folder(folder);
    folder = make_folder();
    write_file(folder, "report.sqlite.gz", packed.data, packed.len);
    load_path(&run, file_in(folder, "report.sqlite.gz"));
    CHECK_INT(run.nranks, 2);
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_INT(op_named(&run.ranks[1], "AllReduce")->bytes, 4096);
    remove_folder(folder);
    run_release(&run);
    buf_release(&sql);
    buf_release(&packed);
}

/* ---- hostile files ---- */

TEST(nsys_refused)
{
    CHECK_HAS(sql_error("CREATE TABLE other (a);"), "no export of Nsight Systems");
    CHECK_HAS(sql_error(NSYS_NEW), "no GPU work in it");
    CHECK_HAS(sql_error("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
                        "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start, 2 AS end;"),
              "CUPTI_ACTIVITY_KIND_KERNEL is no plain table: refused");
    CHECK_HAS(sql_error("CREATE VIEW stringids AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL "
                        "SELECT id + 1 FROM n) SELECT id, 'x' AS value FROM n;"),
              "StringIds is no plain table: refused");
    CHECK_HAS(sql_error("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
                        "CREATE VIRTUAL TABLE NVTX_EVENTS USING fts4(start, end, eventType);"),
              "NVTX_EVENTS is no plain table: refused");
    CHECK_HAS(sql_error("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
                        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (begin INTEGER, end INTEGER);"),
              "no GPU work in it");
}

/* Columns of other types, no values, values that nothing can be. */
TEST(nsys_wrong_values)
{
    struct buf sql = BUF_INIT;
    struct run run;
    buf_puts(&sql, NSYS_NEW);
    nsys_put_kernel(&sql, 1, 0, "good", 2000, 500);
    buf_puts(&sql,
             "CREATE TRIGGER t AFTER INSERT ON StringIds BEGIN DELETE FROM StringIds; END;"
             "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
             "('soon', 'later', 0, 1, NULL, 7, 1, 281474993487872, 1, 1, 1, NULL, NULL),"
             "(NULL, NULL, 0, 1, NULL, 7, 1, 281474993487872, 1, 1, 1, NULL, NULL),"
             "(5000, 4000, 0, 1, NULL, 7, 1, 281474993487872, 1, 1, 1, NULL, NULL),"
             "(9223372036854775807, 9223372036854775807, 0, 1, NULL, 7, 1, 281474993487872, "
             "1, 1, 1, NULL, NULL),"
             "(-9223372036854775808, 5, 0, 1, NULL, 7, 1, 281474993487872, 1, 1, 1, NULL, "
             "NULL),"
             "(5000, 6000, 99999999999, 1, NULL, 7, 1, 281474993487872, 1, 1, 1, NULL, NULL),"
             "(7000, 8000, 0, 'x', NULL, -5, 'y', 281474993487872, 'inline', 8, 8, NULL, "
             "NULL),"
             "(8000, 9000, NULL, NULL, NULL, NULL, NULL, 281474993487872, 55, x'00ff', NULL, "
             "NULL, NULL);"
             "INSERT INTO NVTX_EVENTS VALUES ('a', 'b', 59, 'x', 281474993487882, 0, 0, 0, 0, "
             "0), (1, 2, 59, x'0102', 281474993487882, 0, 0, 0, 0, 0), (1, 2, 'c', 'y', "
             "281474993487882, 0, 0, 0, 0, 0);"
             "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 5, 0, 281474993487882, 1, "
             "1);");
    load_sql(&run, sql.data);
    CHECK_INT(run.nranks, 1);
    CHECK_INT(run.ranks[0].nops, 3);
    CHECK_STR(run.ranks[0].ops[1].name, "inline");
    CHECK_INT(run.ranks[0].ops[1].stream, -1);
    CHECK_STR(run.ranks[0].ops[2].name, "(no name)");
    CHECK_HAS(note_with(&run, "CUPTI_ACTIVITY_KIND_KERNEL"),
              "report.sqlite: CUPTI_ACTIVITY_KIND_KERNEL: 6 rows left out");
    CHECK(run_partial(&run));
    CHECK_HAS(note_with(&run, "NVTX_EVENTS"), "1 row left out");
    CHECK_HAS(note_with(&run, "RUNTIME"), "1 row left out");
    run_release(&run);
    buf_release(&sql);
}

TEST(nsys_missing_columns)
{
    struct buf sql = BUF_INIT;
    struct run run;
    buf_puts(&sql, NSYS_NEW);
    nsys_put_kernel(&sql, 1, 0, "good", 2000, 500);
    buf_puts(&sql, "DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME;"
                   "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER);");
    load_sql(&run, sql.data);
    CHECK_INT(run.ranks[0].nops, 1);
    CHECK_HAS(note_with(&run, "no column"), "CUPTI_ACTIVITY_KIND_RUNTIME: no column 'globalTid'");
    run_release(&run);
    buf_release(&sql);
}

/* A file may make SQLite read the tables that the reader names, and do nothing else. */
TEST(nsys_authorizer)
{
    static const char *const denied[] = {
        "SELECT value FROM META_DATA_CAPTURE",
        "SELECT * FROM TARGET_INFO_SYSTEM_ENV",
        "SELECT randomblob(1000)",
        "SELECT count(*) FROM StringIds",
        "SELECT value FROM StringIds WHERE value LIKE 'a%'",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
        "SELECT name FROM pragma_table_info('StringIds')",
        "PRAGMA table_info(StringIds)",
        "ATTACH 'other' AS other",
        "DELETE FROM StringIds",
        "CREATE TEMP TABLE t (a)",
        "SELECT load_extension('x')",
        "SELECT * FROM v",
    };
    const char *folder = make_folder();
    struct nsys_db *db;
    struct stream *s;
    struct err e = {0};
    nsys_write(folder, "report.sqlite",
               NSYS_NEW "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);"
                        "CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);"
                        "CREATE VIEW v AS SELECT value FROM StringIds;");
    CHECK_INT(stream_open(&s, file_in(folder, "report.sqlite"), &e), 0);
    CHECK_INT(nsys_db_open(&db, s, "report.sqlite", &e), 0);
    CHECK(nsys_db_allows(db, "SELECT id, value FROM StringIds"));
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
        CHECK_INT_OF(denied[i], nsys_db_allows(db, denied[i]), false);
    nsys_db_close(db);
    stream_close(s);
    remove_folder(folder);
}

/* A computed column could call functions: it is not read, the rest is. */
TEST(nsys_generated_column)
{
    struct buf sql = BUF_INIT;
    struct run run;
    buf_puts(&sql, NSYS_NEW);
    nsys_put_kernel(&sql, 1, 0, "good", 2000, 500);
    buf_puts(&sql, "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT AS "
                   "(hex(zeroblob(100000000))));"
                   "INSERT INTO TARGET_INFO_GPU (id) VALUES (0);");
    load_sql(&run, sql.data);
    CHECK_STR(run.ranks[0].gpu, "");
    CHECK_HAS(note_with(&run, "TARGET_INFO_GPU"), "no column 'name'");
    CHECK_INT(run.ranks[0].nops, 1);
    run_release(&run);
    buf_release(&sql);
}

/* The page of texts is damaged, all others are whole: names are missing, which is noted. */
TEST(nsys_damaged_texts)
{
    const char *folder = make_folder();
    struct buf sql = BUF_INIT;
    struct run run;
    size_t len = 0, page;
    char *bytes, *text;
    buf_puts(&sql, NSYS_NEW);
    nsys_put_kernel(&sql, 1, 0, "text_of_a_kernel", 2000, 500);
    nsys_write(folder, "report.sqlite", sql.data);
    bytes = read_whole(file_in(folder, "report.sqlite"), &len);
    page = (size_t)((unsigned char)bytes[16] << 8 | (unsigned char)bytes[17]);
    text = memmem(bytes, len, "text_of_a_kernel", 16);
    CHECK(text != NULL && page >= 512);
    memset(bytes + (size_t)(text - bytes) / page * page, 0xff, 8);
    write_file(folder, "report.sqlite", bytes, len);
    load_path(&run, folder);
    CHECK_INT(run.ranks[0].nops, 1);
    CHECK_STR(run.ranks[0].ops[0].name, "(no name)");
    CHECK_HAS(note_with(&run, "StringIds: 3 texts could not be read"), "loss: ");
    run_release(&run);
    remove_folder(folder);
    free(bytes);
    buf_release(&sql);
}

/* Cut anywhere, or with bytes changed anywhere: an answer or a message, never more. */
TEST(nsys_damaged)
{
    const char *folder = make_folder();
    struct buf sql = BUF_INIT;
    static char copy[1 << 18];
    char *bytes;
    uint32_t random = 12345;
    size_t len = 0;
    put_two_ranks(&sql);
    nsys_write(folder, "report.sqlite", sql.data);
    bytes = read_whole(file_in(folder, "report.sqlite"), &len);
    CHECK(len > 4096 && len < sizeof copy);
    for (int i = 0; i < 400; i++) {
        size_t size = i % 4 == 0 ? len * (size_t)(i + 1) / 400 : len;
        struct run run;
        struct err e;
        memcpy(copy, bytes, len);
        for (int k = 0; i % 4 != 0 && k < 1 + i % 16; k++) {
            random = random * 1664525 + 1013904223;
            copy[16 + random % (len - 16)] = (char)(random >> 24);
        }
        write_file(folder, "report.sqlite", copy, size);
        if (run_load(&run, folder, NULL, &e) < 0)
            CHECK_INT(e.code, ERR_INPUT);
        run_release(&run);
    }
    write_file(folder, "report.sqlite", bytes, len - 4096);
    CHECK_HAS(load_error(file_in(folder, "report.sqlite"), NULL), "SQLite: ");
    remove_folder(folder);
    free(bytes);
    buf_release(&sql);
}

#else

TEST(nsys_without_sqlite)
{
    const char *folder = make_folder();
    write_file(folder, "report.sqlite", "SQLite format 3", 16);
    CHECK_HAS(load_error(file_in(folder, "report.sqlite"), NULL),
              "report.sqlite: an SQLite file, and this build has no SQLite");
    remove_folder(folder);
}

#endif

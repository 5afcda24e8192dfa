/* SPDX-License-Identifier: MIT
 *
 * Closing records: what is read of them, and what they add up to.
 */
#include "analysis/closing_sums.h"
#include "made_jsonl.h"
#include "report/analyze_report.h"

#include <math.h>

#define ROW(_comm, _size, _op, _us, _hist)                                                   \
    "{\"comm\":" _comm ",\"size\":" _size ",\"op\":\"" _op                                   \
    "\",\"count\":10,\"bytes\":1000,\"timed\":8,\"timed_bytes\":800,\"spans\":4,\"us\":" _us \
    ",\"min_us\":1.000,\"max_us\":9.000,\"from_us\":2.0,\"to_us\":90.0,\"hist\":" _hist "}"
#define KIND(_us) "{\"count\":10,\"bytes\":1000,\"timed\":8,\"us\":" _us "}"
#define SUMMARY(_collectives_us, _rows)                                                     \
    "{\"nccl\":{},\"time\":{\"from_us\":10.000,\"to_us\":110.000,\"devices\":1,"            \
    "\"collectives\":" KIND(_collectives_us) ",\"messages\":" KIND(                         \
        "0") ",\"gemms\":"                                                                  \
             "{\"count\":3,\"timed\":3,\"us\":40.0}},\"comms\":[" _rows "],\"launches\":7," \
             "\"skipped\":{\"cublas\":5},\"later\":[{\"x\":[1]}]}"
#define SHUTDOWN(_summary)                                                     \
    "{\"event\":\"shutdown\",\"time_us\":900.0,\"total_ops\":1,\"dropped\":0," \
    "\"summary\":" _summary "}\n"

#define ID "\"00000000000000ab\""

static bool parse(struct closing *c, const char *summary, const char **error)
{
    struct json_text text = {summary, (uint32_t)strlen(summary), false};
    size_t offset;
    memset(c, 0, sizeof *c);
    c->label = "f";
    c->host = "h";
    return closing_parse(c, text, error, &offset);
}

TEST(closing_reads_a_summary)
{
    struct closing c;
    const char *error;
    CHECK(
        parse(&c,
              SUMMARY("20.5",
                      ROW(ID, "8", "AllReduce", "12.5", "[[11,1],[12,3],[70,1],[2,9]]") "," ROW(
                          "null", "null", "Send", "0", "[]") "," ROW(ID, "8", "Newer", "1", "[]")),
              &error));
    CHECK(c.has_times && c.has_comms);
    CHECK_INT(c.from_ns, 10000);
    CHECK_INT(c.to_ns, 110000);
    CHECK_INT(c.kinds[SPECTER_SUM_COLLECTIVES].ns, 20500);
    CHECK_INT(c.kinds[SPECTER_SUM_GEMMS].timed, 3);
    CHECK_INT(c.skipped, 5);
    CHECK_INT(c.launches, 7);
    CHECK_INT(c.nrows, 2); /* an operation of a newer specter is passed over */
    CHECK(c.rows[0].known_comm && c.rows[0].comm == 0xab);
    CHECK_INT(c.rows[0].timed_bytes, 800);
    CHECK_INT(c.rows[0].ns, 12500);
    CHECK_INT(c.rows[0].hist[0], 9);
    CHECK_INT(c.rows[0].hist[SPECTER_HIST_BINS - 1], 1);
    CHECK(!c.rows[1].known_comm);
    CHECK_INT(c.rows[1].size, 0);
    closing_release(&c);
}

TEST(closing_refuses_what_cannot_be)
{
    static const char *const damaged[] = {
        "",
        "[]",
        "{\"time\":{\"from_us\":1",
        "{\"time\":{\"from_us\":9e30}}",
        "{\"time\":{\"to_us\":4611686018427387.904}}", /* 2^62 ns: differences must fit */
        "{\"time\":{\"from_us\":-4611686018427387.904}}",
        "{\"time\":{\"collectives\":{\"us\":-1}}}",
        "{\"time\":7}",
        "{\"comms\":[{\"comm\":\"xyz\"}]}",
        "{\"comms\":[{\"comm\":\"00000000000000zz\"}]}",
        "{\"comms\":[{\"count\":-1}]}",
        "{\"comms\":[{\"hist\":[[1,\"a\"]]}]}",
        "{\"comms\":{}}",
    };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        struct closing c;
        const char *error;
        if (parse(&c, damaged[i], &error))
            test_fail(__FILE__, __LINE__, "accepted: %s", damaged[i]);
        closing_release(&c);
    }
}

TEST(closing_without_sums_is_told)
{
    struct closing c;
    const char *error;
    CHECK(parse(&c, "{\"nccl\":{},\"comms\":null}", &error));
    CHECK(!c.has_times && !c.has_comms);
    closing_release(&c);
}

/* ---- what they add up to ---- */

static struct closing_row row_of(uint64_t comm, int32_t size, int64_t ns, uint64_t spans)
{
    struct closing_row row = {.known_comm = true, .comm = comm, .size = size};
    row.op = SPECTER_ALLREDUCE;
    row.count = spans;
    row.bytes = row.timed_bytes = 1000 * spans;
    row.timed = row.spans = spans;
    row.ns = ns;
    row.min_ns = 600;
    row.max_ns = 9000;
    row.hist[1] = spans - 1; /* 512 to 1023 ns */
    row.hist[5] = 1;         /* from 8192 ns on */
    return row;
}

static void add_rank(struct closing_sums *s, int64_t rank, struct closing_row *rows, size_t nrows)
{
    struct closing c = {.label = "f", .host = rank < 2 ? "a" : "b", .rank = rank};
    c.from_ns = 1000;
    c.to_ns = 101000;
    c.devices = 1;
    c.rows = rows;
    c.nrows = nrows;
    for (size_t i = 0; i < nrows; i++)
        c.kinds[SPECTER_SUM_COLLECTIVES].ns += rows[i].ns;
    closing_sums_add(s, &c);
}

/* Four ranks, in two groups of two and one of four; `order` by which they come. */
static void four_ranks(struct closing_sums *s, const int order[4])
{
    static const int64_t ns[4][2] = {{20000, 9000}, {10000, 9000}, {30000, 9000}, {30000, 1000}};
    closing_sums_init(s);
    for (int i = 0; i < 4; i++) {
        int rank = order[i];
        struct closing_row rows[] = {row_of(7 + (uint64_t)rank / 2, 2, ns[rank][0], 10),
                                     row_of(3, 4, ns[rank][1], 5)};
        add_rank(s, rank, rows, 2);
    }
    closing_sums_finish(s);
}

TEST(closing_sums_are_the_same_in_any_order)
{
    struct closing_sums a, b;
    four_ranks(&a, (const int[]){0, 1, 2, 3});
    four_ranks(&b, (const int[]){3, 1, 0, 2});
    CHECK_INT(a.hosts.count, 2);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(a.ranks[i].rank, i);
        CHECK_INT(b.ranks[i].rank, i);
        CHECK(a.ranks[i].caused_ns == b.ranks[i].caused_ns);
    }
    CHECK_INT((int64_t)a.ncomms, 3);
    for (size_t i = 0; i < a.ncomms; i++)
        CHECK(a.comms[i].id == b.comms[i].id &&
              a.comms[i].of_ranks.least == b.comms[i].of_ranks.least);
    closing_sums_release(&a);
    closing_sums_release(&b);
}

TEST(closing_sums_of_four_ranks)
{
    struct closing_sums s;
    const struct closing_class *two, *four;
    double from, to;
    four_ranks(&s, (const int[]){0, 1, 2, 3});
    two = &s.classes[SPECTER_ALLREDUCE][2];
    four = &s.classes[SPECTER_ALLREDUCE][3];
    CHECK_INT(two->comms, 2);
    CHECK_INT(two->ranks, 4);
    CHECK_INT(two->count, 40);
    CHECK_DOUBLE(long_sum_value(two->ns), 90000, 0);
    CHECK_DOUBLE(long_sum_value(two->timed_bytes), 40000, 0);
    CHECK_DOUBLE(long_sum_value(two->bus_bytes), 40000, 0); /* 2 (n - 1) / n */
    CHECK_INT(two->of_ranks.least, 1);
    CHECK_INT(two->of_ranks.most, 2); /* of equal times the lower rank */
    CHECK_INT(four->size_min, 4);
    CHECK(closing_quantile(two, 0.5, &from, &to));
    CHECK_DOUBLE(from, 600, 0); /* not below the shortest */
    CHECK_DOUBLE(to, 1024, 0);
    CHECK(closing_quantile(two, 0.99, &from, &to));
    CHECK_DOUBLE(from, 8192, 0);
    CHECK_DOUBLE(to, 9000, 0);
    CHECK_DOUBLE(s.kinds[SPECTER_SUM_COLLECTIVES].median, 0.29, 1e-9);
    CHECK_INT(s.communication.least_rank, 1);
    CHECK_INT(s.communication.most_rank, 2);
    CHECK_DOUBLE(s.recorded.median, 100000, 0);
    /* In the group of four the others wait 3 x 8 us for rank 3; in that of two 10 us for rank 1. */
    CHECK_DOUBLE(s.ranks[3].caused_ns, 24000, 1e-9);
    CHECK_DOUBLE(s.ranks[1].caused_ns, 10000, 1e-9);
    CHECK_INT((int64_t)s.straggler, 3);
    closing_sums_release(&s);
}

/* Nothing is said of waits where members are missing, did other numbers, or may leave early. */
TEST(closing_sums_compare_only_what_can_be)
{
    struct closing_sums s;
    struct closing_row rows[2][3];
    for (int r = 0; r < 2; r++) {
        rows[r][0] = row_of(1, 3, 1000 + 1000 * r, 5);                 /* of three */
        rows[r][1] = row_of(2, 2, 1000 + 1000 * r, (uint64_t)(5 + r)); /* other numbers */
        rows[r][2] = row_of(3, 2, 1000 + 1000 * r, 5);
        rows[r][2].op = SPECTER_BROADCAST;
    }
    closing_sums_init(&s);
    add_rank(&s, 0, rows[0], 3);
    add_rank(&s, 1, rows[1], 3);
    closing_sums_finish(&s);
    for (size_t i = 0; i < s.ncomms; i++)
        CHECK(isnan(closing_wait_ns(&s.comms[i])));
    CHECK(s.straggler == SIZE_MAX);
    closing_sums_release(&s);
}

/* Weeks of a hundred thousand ranks do not fit 64 bits. */
TEST(closing_sums_do_not_overflow)
{
    struct closing_sums s;
    const int64_t weeks = INT64_C(2419200000000000);
    closing_sums_init(&s);
    for (int i = 0; i < 10000; i++) {
        struct closing_row row = row_of(1, 10000, weeks, 2);
        row.timed_bytes = row.bytes = UINT64_MAX / 2;
        add_rank(&s, i, &row, 1);
    }
    closing_sums_finish(&s);
    const struct closing_class *c = &s.classes[SPECTER_ALLREDUCE][15];
    CHECK_DOUBLE(long_sum_value(c->ns), 1e4 * (double)weeks, 1e-12);
    CHECK_DOUBLE(long_sum_value(c->bytes), 1e4 * 0x1p63, 1e-12);
    closing_sums_release(&s);
}

/* Times that a record may hold, which together are more than it may. */
TEST(closing_sums_of_a_rank_do_not_turn_negative)
{
    struct closing_sums s;
    struct closing_row most[2] = {row_of(1, 2, RUN_TIME_MAX - 1, 2),
                                  row_of(2, 2, RUN_TIME_MAX - 1, 2)};
    struct closing_row less[1] = {row_of(1, 2, 5000, 2)};
    struct closing long_ago = {.label = "f", .host = "", .rank = 2, .devices = 1};
    closing_sums_init(&s);
    for (int64_t rank = 0; rank < 2; rank++) {
        struct closing c = {.label = "f", .host = "", .rank = rank, .from_ns = UNKNOWN_NS};
        c.rows = rank == 0 ? most : less;
        c.nrows = rank == 0 ? 2 : 1;
        closing_sums_add(&s, &c);
    }
    long_ago.from_ns = 1 - RUN_TIME_MAX;
    long_ago.to_ns = RUN_TIME_MAX - 1;
    closing_sums_add(&s, &long_ago);
    closing_sums_finish(&s);
    const struct closing_extremes *x = &s.classes[SPECTER_ALLREDUCE][2].of_ranks;
    CHECK_INT(x->least, 1);
    CHECK_INT(x->least_ns, 5000);
    CHECK_INT(x->most, 0);
    CHECK(x->most_ns >= RUN_TIME_MAX - 1);
    CHECK(s.ranks[2].recorded_ns > 0);
    closing_sums_release(&s);
}

/* Two sizes under one id, as a damaged or reused id has them, are alike in all else. */
TEST(closing_sums_order_sizes_of_one_id)
{
    for (int first = 0; first < 2; first++) {
        struct closing_sums s;
        struct closing_row rows[2] = {row_of(7, first == 0 ? 16 : 8, 1000, 2),
                                      row_of(7, first == 0 ? 8 : 16, 1000, 2)};
        closing_sums_init(&s);
        add_rank(&s, 0, rows, 2);
        closing_sums_finish(&s);
        CHECK_INT(s.comms[0].size, 8);
        CHECK_INT(s.comms[1].size, 16);
        closing_sums_release(&s);
    }
}

TEST(closing_sums_without_device_times)
{
    struct closing_sums s;
    struct closing c = {.label = "f", .host = "", .rank = -1, .from_ns = UNKNOWN_NS};
    double from, to;
    closing_sums_init(&s);
    closing_sums_add(&s, &c);
    closing_sums_finish(&s);
    CHECK(isnan(s.recorded.median) && isnan(s.communication.median));
    CHECK(!closing_quantile(&s.classes[0][0], 0.5, &from, &to));
    closing_sums_release(&s);
}

/* Compares three cells of a row, which are found by the keys of their columns. */
static void check_numbers(const struct sheet *s, size_t row, const char *const keys[3],
                          const double values[3])
{
    for (int i = 0; i < 3; i++) {
        size_t c = 0;
        while (c < s->ncolumns && (s->columns[c].key == NULL || strcmp(s->columns[c].key, keys[i])))
            c++;
        CHECK(c < s->ncolumns);
        double value = s->cells[row * s->ncolumns + c].number;
        if (isnan(values[i]) ? !isnan(value) : value != values[i])
            test_fail(__FILE__, __LINE__, "%s of row %zu is %g", keys[i], row, value);
    }
}

/* Rank 0 has counts and no times: it is not the fastest, and no part of the means. */
TEST(closing_ranks_without_device_times_are_no_extremes)
{
    struct closing_sums s;
    struct run run = {.world_size = 3};
    struct sheet sheets[CLOSING_SHEET_COUNT];
    closing_sums_init(&s);
    for (int64_t rank = 0; rank < 3; rank++) {
        struct closing_row rows[2] = {row_of(1, 3, 10000 * rank, 5), row_of(2, 3, 0, 5)};
        for (int i = 0; i < 2; i++)
            rows[i].spans = i == 0 && rank > 0 ? 5 : 0;
        rows[1].op = SPECTER_BROADCAST; /* of which no rank has times */
        add_rank(&s, rank, rows, 2);
    }
    closing_sums_finish(&s);
    const struct closing_class *reduces = &s.classes[SPECTER_ALLREDUCE][3];
    CHECK_INT(reduces->ranks, 3);
    CHECK_INT(reduces->of_ranks.timed, 2);
    CHECK_INT(reduces->of_ranks.least, 1);
    CHECK_INT(reduces->of_ranks.least_ns, 10000);
    CHECK_INT(reduces->of_ranks.most, 2);
    CHECK(s.comms[0].op == SPECTER_ALLREDUCE);
    CHECK_INT(s.comms[0].members, 3);
    CHECK_INT(s.comms[0].of_ranks.least, 1);
    closing_sheets(sheets, &(struct closing_report){&s, &run});
    check_numbers(&sheets[1], 0, (const char *const[]){"rank_us", "least_us", "least_rank"},
                  (const double[]){15000, 10000, 1});
    check_numbers(&sheets[1], 1, (const char *const[]){"rank_us", "least_us", "least_rank"},
                  (const double[]){NAN, NAN, NAN});
    check_numbers(&sheets[2], 0, (const char *const[]){"mean_us", "most_us", "most_rank"},
                  (const double[]){15000, 20000, 2});
    check_numbers(&sheets[2], 1, (const char *const[]){"mean_us", "most_us", "most_rank"},
                  (const double[]){NAN, NAN, NAN});
    for (int i = 0; i < CLOSING_SHEET_COUNT; i++)
        sheet_release(&sheets[i]);
    closing_sums_release(&s);
}

/* ---- files ---- */

static size_t taken;
static int64_t taken_ranks;

static void take(void *arg, const struct closing *c)
{
    (void)arg;
    taken++;
    taken_ranks += c->rank;
}

static const char *notes_of(const struct run *run)
{
    static char text[4096];
    text[0] = '\0';
    for (size_t i = 0; i < run->nnotes; i++) {
        strcat(text, run->notes[i].text);
        strcat(text, run->notes[i].loss ? "!\n" : "\n");
    }
    return text;
}

static int read_folder(struct run *run, const char *folder, struct err *e)
{
    taken = 0;
    taken_ranks = 0;
    return closings_read(run, folder, NULL, take, NULL, e);
}

static const char *rank_file(int rank)
{
    static char name[64];
    snprintf(name, sizeof name, "specter_trace_rank%d.jsonl", rank);
    return name;
}

static void write_rank(const char *folder, int rank, const char *end)
{
    struct buf text = BUF_INIT;
    buf_puts(&text, init_line("r", rank, 6, "h", 5, 1700000000));
    buf_puts(&text, end);
    write_file(folder, rank_file(rank), text.data, text.len);
    buf_release(&text);
}

#define GOOD SHUTDOWN(SUMMARY("20", ROW(ID, "8", "AllReduce", "12.5", "[[11,4]]")))

TEST(closings_are_read_from_the_ends_of_files)
{
    const char *folder = make_folder();
    struct run run;
    struct err e;
    struct buf text = BUF_INIT, packed = BUF_INIT;
    buf_puts(&text, "\xef\xbb\xbf"); /* as some editors put it there */
    buf_puts(&text, init_line("r", 0, 6, "h", 5, 1700000000));
    buf_puts(&text, GOOD);
    write_file(folder, "copy.jsonl", text.data, text.len);
    buf_reset(&text);
    /* Long, with a closing line behind the first block. */
    buf_puts(&text, init_line("r", 1, 6, "h", 5, 1700000000));
    for (int i = 0; i < 3000; i++)
        buf_puts(&text, "{\"type\":\"dep\",\"kind\":\"record\",\"stream\":1,\"host_us\":5.0}\n");
    buf_puts(&text,
             "{\"event\":\"shutdown\",\"time_us\":1,\"total_ops\":1,\"dropped\":0,\"summary\":"
             "{\"time\":{\"from_us\":1,\"to_us\":2},\"comms\":[],\"x\":\"");
    for (int i = 0; i < 50000; i++)
        buf_putc(&text, 'x');
    buf_puts(&text, "\"}}\n");
    write_file(folder, rank_file(1), text.data, text.len);
    put_gzip(&packed, text.data, text.len);
    buf_reset(&text);
    buf_puts(&text, init_line("r", 2, 6, "h", 5, 1700000000));
    buf_puts(&text, GOOD);
    buf_reset(&packed);
    put_gzip(&packed, text.data, text.len);
    write_file(folder, "specter_trace_rank2.jsonl.gz", packed.data, packed.len);
    write_rank(folder, 3, GOOD "   \n# a slot that was being written\n    \n");
    CHECK_INT(read_folder(&run, folder, &e), 0);
    CHECK_INT((int64_t)taken, 4);
    CHECK_INT(taken_ranks, 0 + 1 + 2 + 3);
    CHECK_STR(run.id, "r");
    CHECK_INT(run.world_size, 6);
    CHECK_STR(notes_of(&run), "15 GEMMs were left out by sampling: ranks 0,2-3\n"
                              "4 of 6 ranks have a trace; missing: ranks 4-5!\n");
    run_release(&run);
    buf_release(&text);
    buf_release(&packed);
    remove_folder(folder);
}

TEST(closings_name_what_is_lost)
{
    const char *folder = make_folder();
    struct run run;
    struct err e;
    write_rank(folder, 0, GOOD);
    write_rank(folder, 1, "{\"type\":\"dep\",\"kind\":\"record\"}\n");
    write_rank(folder, 2, SHUTDOWN("{\"nccl\":{}}"));
    write_rank(folder, 3, SHUTDOWN("{\"time\":{\"from_us\":[]}}"));
    write_rank(folder, 4, "{\"event\":\"shutdown\",\"time_us\":1,\"tot"); /* cut */
    write_rank(folder, 5, SHUTDOWN("{\"time\":{},\"comms\":null,\"stopped\":\"max-size\"}"));
    CHECK_INT(read_folder(&run, folder, &e), 0);
    CHECK_INT((int64_t)taken, 2);
    CHECK(run_partial(&run));
    const char *notes = notes_of(&run);
    CHECK_HAS(notes, "so in no sum here: ranks 1,4!\n");
    CHECK_HAS(notes, "closing records of an older specter, which hold no sums: rank 2!\n");
    CHECK_HAS(notes, "specter_trace_rank3.jsonl: closing record: ");
    CHECK_HAS(notes, "closing records without room for sums by communicator: rank 5!\n");
    CHECK_HAS(notes, "recording ended before the program did: rank 5\n");
    run_release(&run);
    remove_folder(folder);
}

/* A world of 10^18 ranks would fill memory with those that are missing. */
TEST(closings_refuse_impossible_ranks_and_sizes)
{
    static const char *const heads[] = {
        "\"rank\":1,\"world_size\":1000000000000000000}\n",
        "\"rank\":9223372036854775807,\"world_size\":6}\n",
        "\"rank\":-2,\"world_size\":6}\n",
    };
    const char *folder = make_folder();
    struct run run;
    struct err e;
    write_rank(folder, 0, GOOD);
    for (int i = 0; i < 3; i++) {
        struct buf text = BUF_INIT;
        buf_printf(&text, "{\"event\":\"init\",\"version\":1,\"run\":\"r\",%s%s", heads[i], GOOD);
        write_file(folder, rank_file(i + 1), text.data, text.len);
        buf_release(&text);
    }
    CHECK_INT(read_folder(&run, folder, &e), 0);
    CHECK_INT((int64_t)taken, 1);
    CHECK_INT(run.world_size, 6);
    for (int i = 1; i < 4; i++) {
        char line[128];
        snprintf(line, sizeof line, "%s: init record: impossible rank or world size; this",
                 rank_file(i));
        CHECK_HAS(notes_of(&run), line);
    }
    CHECK_HAS(notes_of(&run), "4 of 6 ranks have a trace; missing: ranks 4-5!\n");
    run_release(&run);
    remove_folder(folder);
}

TEST(closings_of_older_traces_are_refused_in_one_line)
{
    const char *folder = make_folder();
    struct run run;
    struct err e;
    write_rank(folder, 0, SHUTDOWN("{\"nccl\":{}}"));
    CHECK_INT(read_folder(&run, folder, &e), -1);
    CHECK_HAS(e.msg, "hold no sums: an older specter wrote them; without --summary");
    run_release(&run);
    write_rank(folder, 0, END);
    CHECK_INT(read_folder(&run, folder, &e), -1);
    CHECK_HAS(e.msg, "hold no sums: an older specter wrote them");
    run_release(&run);
    write_rank(folder, 0, "");
    CHECK_INT(read_folder(&run, folder, &e), -1);
    CHECK_HAS(e.msg, "has a closing record (the program was killed or still runs)");
    run_release(&run);
    remove_folder(folder);
}

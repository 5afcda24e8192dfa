# SPDX-License-Identifier: MIT
# A split product (Hopper, Blackwell) keeps its shape, with the time of its sum, in any order of rows.
command -v sqlite3 >/dev/null || { echo "no sqlite3"; exit 77; }
. "$ROOT"/tests/cli/built.bash
needs SQLite
thread=281474993487882 process=281474993487872
make() { # make FILE PRODUCT FIRST-ROW SECOND-ROW: kernels as "NAME START END CORRELATION"
    local file=$1 op=$2
    sqlite3 "$file" <<SQL
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1, 'nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT'), (2, 'cudaLaunchKernel_v7000'),
    (3, 'void cublasLt::splitKreduce_kernel<32, 16, int, float>');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES $3, $4;
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,
    globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1500, 0, $thread, 1, 2), (1600, 1700, 0, $thread, 2, 2);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER);
INSERT INTO NVTX_EVENTS VALUES (900, 1900, 59, '$op, seq = 1, op_id = 1, sizes = [[64, 4096], [4096, 100]], input_op_ids = [(0,0)]',
    $thread, NULL);
SQL
}
main="(2000, 17000, 0, 1, 7, 1, $process, 1, 1)" sum="(18000, 23000, 0, 1, 7, 2, $process, 3, 3)"
make a.sqlite aten::mm "$main" "$sum"
make b.sqlite aten::_scaled_mm "$sum" "$main"
for file in a b; do
    "$SPECTER" analyze --full $file.sqlite --table gemms --format csv 2>/dev/null | tail -1
done

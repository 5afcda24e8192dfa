# The main program of the unit tests: a test that fails, skips or ends its process is told by name, its lines
# stand before its verdict, and all others run.
cat >tests.c <<'END'
#include "test.h"
#include <stdlib.h>
#include <unistd.h>
TEST(good_1) { CHECK(1); }
TEST(wrong) { CHECK_INT(1 + 1, 3); CHECK_STR("a", "b"); }
TEST(aborts) { CHECK(!"seen before the end"); abort(); }
TEST(exits) { _exit(0); }
TEST(left_out) { SKIP("no data"); }
TEST(good_2) { }
TEST(good_3) { }
END
"$CC" -D_GNU_SOURCE -I"$ROOT/tests/unit" tests.c "$ROOT/tests/unit/test.c" -o tests -lm -lpthread || exit
ulimit -c 0
./tests 2>&1 >tap
echo "status $?"
head -n 1 tap
sed 's/^\(\(not \)\?ok\) [0-9]* /\1 N /' tap | grep -v '^1\.\.\|^#' | sort
grep -B 2 ' - wrong' tap | sed 's/ok [0-9]*/ok N/'
grep -B 2 ' - aborts' tap | sed 's/ok [0-9]*/ok N/'
./tests good | sort
# A worker that ends badly outside of every test, and a test that hangs until the time is up.
cat >late.c <<'END'
#include "test.h"
#include <stdlib.h>
#include <unistd.h>
static void crash(void) { _exit(66); }
TEST(registers) { atexit(crash); }
TEST(other) { }
END
"$CC" -D_GNU_SOURCE -I"$ROOT/tests/unit" late.c "$ROOT/tests/unit/test.c" -o late -lm -lpthread || exit
./late | sort
echo "status ${PIPESTATUS[0]}"
cat >hangs.c <<'END'
#include "test.h"
#include <unistd.h>
TEST(hangs) { CHECK(!"before it hung"); setpgid(0, 0); pause(); }
TEST(other) { }
END
"$CC" -D_GNU_SOURCE -I"$ROOT/tests/unit" hangs.c "$ROOT/tests/unit/test.c" -o hangs -lm -lpthread || exit
timeout -k 5 1 ./hangs | grep -v other | sort

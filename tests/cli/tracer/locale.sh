# A program that writes 1,5 for 1.5 is traced as any other.
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/locale.bash"
need_decimal_comma
chmod 755 . # for whoever it becomes
LC_ALL=$COMMA_LOCALE STRESS_POINT=, traced out "$STRESS" changes_itself || fail "status $?"
check out/*
grep -c '"duration_us":[0-9]*\.[0-9][0-9][0-9],"bytes"' out/*.jsonl

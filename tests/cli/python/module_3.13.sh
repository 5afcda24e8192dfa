# The module with Python 3.13.
. "$ROOT"/tests/cli/python/common.bash
check_module 3.13

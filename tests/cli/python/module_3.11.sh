# The module with Python 3.11.
. "$ROOT"/tests/cli/python/common.bash
check_module 3.11

# The module with Python 3.8.
. "$ROOT"/tests/cli/python/common.bash
check_module 3.8

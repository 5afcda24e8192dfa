# The module with Python 3.10.
. "$ROOT"/tests/cli/python/common.bash
check_module 3.10

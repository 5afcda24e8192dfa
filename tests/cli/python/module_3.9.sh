# The module with Python 3.9.
. "$ROOT"/tests/cli/python/common.bash
check_module 3.9

# The module with Python 3.12.
. "$ROOT"/tests/cli/python/common.bash
check_module 3.12

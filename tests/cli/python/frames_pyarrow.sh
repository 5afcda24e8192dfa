# Frames of pyarrow hold the numbers of the JSON.
. "$ROOT"/tests/cli/python/common.bash
check_frames pyarrow

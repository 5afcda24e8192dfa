# SPDX-License-Identifier: MIT
# Streams that wait for events.
bash "$ROOT"/tests/cli/analyze_device/profile.bash hta/cuda_event_sync_multi_stream/event_sync_trace.json.gz

# SPDX-License-Identifier: MIT
# A profile made by others: products on three streams, the last behind events of the first two. The host
# sleeps 19 ms before it calls for the last one, so that it is the path; counted by hand from the file.
[[ -d $SHARED/data/traces/hta ]] || { echo "no ../shared data"; exit 77; }
"$SPECTER" analyze --full "$SHARED/data/traces/hta/cuda_event_sync_multi_stream" --table critical_path --format csv

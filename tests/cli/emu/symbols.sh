# SPDX-License-Identifier: MIT
# Names, versions and bindings are those of the real libraries, so that a program built against one
# runs on the other; every function of the hook table is exported.
command -v readelf nm >/dev/null || { echo "no readelf"; exit 77; }
lib=$BUILD/emu/lib

soname() { readelf -d "$lib/$1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'; }
for name in libcuda.so.1 libcudart.so.13 libcublas.so.13 libcublasLt.so.13 libnccl.so.2 \
    libnvidia-ml.so.1 libcupti.so.13; do
    echo "$(soname $name): $(nm -D --defined-only "$lib/$name" | grep -o '@@.*' | sort -u | tr '\n' ' ')"
done
nm -D --defined-only "$lib/libnccl.so.2" | awk '
    $3 ~ /^nccl/ && $2 != "W" { print $3 " is not weak" }
    $3 ~ /^pnccl/ && $2 != "T" { print $3 " is not strong" }
    $3 ~ /^nccl/ { at[$3] = $1 }
    $3 ~ /^pnccl/ { twin[substr($3, 2)] = $1 }
    END { for (f in at) if (at[f] != twin[f]) print f " has no twin at its address" }'
nm -D --defined-only "$lib"/lib*.so.* "$BUILD"/emu/rocm/lib/lib*.so.* | awk '$2 != "A" && $3 { sub(/@.*/, "", $3); print $3 }' | sort -u >exported
awk '{ print $2 }' "$BUILD/tracer/hooks.txt" | sort >hooked
[ $(wc -l <hooked) -ge 30 ] || echo "only $(wc -l <hooked) hooks found"
comm -23 hooked exported
# what is ours and what is theirs: nothing else is exported
grep -vE '^(cu|__cuda|nccl|pnccl|nvml|hip|emu)' exported
exit 0

# SPDX-License-Identifier: MIT
# Ranks that call for different things wait for ever, as they do for real, and are told apart.
export LD_LIBRARY_PATH=$BUILD/emu/lib
"$ROOT/examples/launch.sh" -n 2 "$BUILD/emu/check_mismatch" 2>err &
launch=$!
for _ in {1..200}; do
    grep -q emu: err && break
    sleep 0.1
done
sleep 0.5
kill -0 $launch && kill $launch
wait $launch
echo "status $?"
sed -n 's/^emu: //p' err

# Control bytes of a file's contents do not reach the terminal, whatever message they are in.
printf '{"gpu": {"name": "mine", "base": "h\\u001b[31mX"}}' >profile.json
"$SPECTER" predict gemm -m 64 -n 64 -k 64 --gpu profile.json 2>&1 | tr -d '[:print:]\n' | wc -c
"$SPECTER" predict gemm -m 64 -n 64 -k 64 --gpu profile.json

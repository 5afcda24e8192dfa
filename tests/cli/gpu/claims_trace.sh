# Claims of the GPU suite about a trace, with one thing wrong each time.
. "$(dirname "$0")/claims.bash"
good good
ask complete good 2
change good lost '"dropped":0' '"dropped":1' && ask complete lost
change good open '"device":4' '"device":3,"none":1' && ask complete open
cp -r good cut && truncate -s -20 cut/*rank1.jsonl && ask complete cut
change good fewer '"id":4,"type":"cublas"' '"id":4,"type":"other"' && ask complete fewer 2
change good uncalled '"unseen":\[\]' '"unseen":[{"kind":"uncalled","path":"a.so"}]' && ask complete uncalled
change good unseen '"unseen":\[\]' '"unseen":[{"kind":"static","path":"a.so"}]' && ask complete unseen
mkdir empty && ask complete empty

mkdir one && cp good/*rank1* one && ask graph one 1 2
change one untimed '"type":"graph"\(.*\)"device"' '"type":"graph"\1"unknown"' && ask graph untimed 1 2
change one outside '"id":4\(.*\)"graph":0,' '"id":4\1' && ask graph outside 1 2
change one timed '"id":4\(.*\)"captured"' '"id":4\1"device"' && ask graph timed 1 2
ask graph good 1 2

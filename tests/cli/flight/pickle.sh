# A pickled dump is known as such and not read.
mkdir dumps
printf '\x80\x02}q\x00(X\x09\x00\x00\x00pg_configq\x01}q\x02u.' >dumps/nccl_trace_rank_0
"$SPECTER" analyze dumps

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A real Slurm on this machine for one command: a controller and two virtual nodes n1 and n2 of 8 CPUs,
# all of them in namespaces of their own, where the nodes' names are this machine's. What is started ends
# with the command.
#
#   tests/slurm/run.sh COMMAND...     status 77, with the reason: no Slurm here, or no right to start one
#
# A node has four GPUs for Slurm (devices that nothing opens) and the features that jobs of Perlmutter ask for; a job
# that is to end gets SIGTERM and five seconds later SIGKILL. Accounts are not kept: --account takes any name.
set -euo pipefail

if [[ -z ${SLURM_LAB:-} ]]; then
    for tool in slurmctld slurmd srun munged mungekey unshare; do
        PATH=$PATH:/usr/sbin command -v $tool >/dev/null || { echo "no $tool"; exit 77; }
    done
    SLURM_LAB=$(mktemp -d /tmp/slurm.XXXXXX) # short: paths of sockets in it have at most 108 bytes
    export SLURM_LAB SLURM_LAB_PORT=$((12000 + $$ % 2000 * 4)) # of several at once each has its own
    trap 'rm -rf "$SLURM_LAB"' EXIT
    unshare -mpf --mount-proc true 2>/dev/null || { echo "no right to make namespaces"; exit 77; }
    unshare -mpf --kill-child --mount-proc "$0" "$@"
    exit
fi

export PATH=$PATH:/usr/sbin SLURM_CONF=$SLURM_LAB/slurm.conf
lab=$SLURM_LAB
mkdir "$lab"/{gpus,state,spool.n1,spool.n2,tmp.n1,tmp.n2,run,log}
printf '127.0.0.1 localhost n1 n2 %s\n' "$(hostname)" >"$lab/hosts"
mount --bind "$lab/hosts" /etc/hosts
mungekey --create --keyfile "$lab/munge.key"
munged --force --key-file "$lab/munge.key" --socket "$lab/munge.socket" --pid-file "$lab/run/munged.pid" \
    --log-file "$lab/log/munged.log" --seed-file "$lab/munge.seed"
cat >"$SLURM_CONF" <<EOF
ClusterName=lab
SlurmctldHost=localhost
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$lab/munge.socket
SlurmctldPort=$SLURM_LAB_PORT
StateSaveLocation=$lab/state
SlurmdSpoolDir=$lab/spool.%n
TmpFS=$lab/tmp.%n
SlurmctldPidFile=$lab/run/slurmctld.pid
SlurmdPidFile=$lab/run/slurmd.%n.pid
SlurmctldLogFile=$lab/log/slurmctld.log
SlurmdLogFile=$lab/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
KillWait=5
InactiveLimit=0
GresTypes=gpu
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=DEFAULT CPUs=8 RealMemory=1000 Gres=gpu:4 Feature=gpu,hbm80g State=UNKNOWN
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((SLURM_LAB_PORT + 1))
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((SLURM_LAB_PORT + 2))
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOF
for gpu in {0..7}; do
    mknod "$lab/gpus/$gpu" c 1 3 || { echo "no right to make devices"; exit 77; }
done
cat >"$lab/gres.conf" <<EOF
NodeName=n1 Name=gpu File=$lab/gpus/[0-3]
NodeName=n2 Name=gpu File=$lab/gpus/[4-7]
EOF
slurmctld -c
slurmd -N n1
slurmd -N n2
for _ in $(seq 300); do
    [[ $(sinfo -h -t idle -o %D) != 2 ]] || break
    sleep 0.1
done
status=0
"$@" || status=$?
((status == 0)) || tail -n 5 "$lab"/log/*.log >&2
exit $status

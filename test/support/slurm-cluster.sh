#!/usr/bin/env bash
# A Slurm cluster for tests: one node with 16 pretended cores and a number of pretended GPUs, from
# Debian's packages slurmctld, slurmd, slurm-client and munge. It runs as the caller, needs no root,
# and keeps everything in one folder.
#
#   slurm-cluster.sh up FOLDER [GPUS]   starts it and waits until the node takes jobs
#   slurm-cluster.sh down FOLDER        ends its jobs and daemons
#
# Slurm's commands find it by SLURM_CONF=FOLDER/slurm.conf.
# Partitions: work (the default), brief (time limit 1 minute), urgent (its jobs preempt those of work).
set -euo pipefail
PATH=$PATH:/usr/sbin
action=${1:?up or down}
mkdir -p "${2:?a folder}"
folder=$(cd "$2" && pwd)
gpus=${3:-2}
node=$(hostname -s)
export SLURM_CONF=$folder/slurm.conf

free_port() {
  node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })'
}

write_configuration() {
  cat >"$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=$node(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
# Cores and memory as written below, whatever the machine has.
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
# Ends a job that uses more than its memory, without cgroups.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
GresTypes=gpu
ReturnToService=2
NodeName=$node NodeAddr=127.0.0.1 CPUs=16 Boards=1 SocketsPerBoard=1 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=16000 Gres=gpu:$gpus State=UNKNOWN
PartitionName=work Nodes=$node Default=YES DefMemPerCPU=256 MaxTime=INFINITE PriorityTier=1 State=UP
PartitionName=brief Nodes=$node DefMemPerCPU=256 MaxTime=1 DefaultTime=1 PriorityTier=1 State=UP
PartitionName=urgent Nodes=$node DefMemPerCPU=256 MaxTime=INFINITE PriorityTier=9 PreemptMode=OFF State=UP
CONF
  for ((i = 0; i < gpus; i++)); do touch "$folder/gpu$i"; done
  echo "NodeName=$node Name=gpu File=$folder/gpu[0-$((gpus - 1))]" >"$folder/gres.conf"
}

start_munge() {
  [ -s "$folder/munge.key" ] || (umask 077 && head -c 1024 /dev/urandom >"$folder/munge.key")
  munged --force --num-threads=2 --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
    --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" --seed-file="$folder/munge.seed"
}

# Ends the process of a pid file, also one that does not react.
stop_daemon() {
  local pid
  pid=$(cat "$folder/$1.pid" 2>/dev/null) || return 0
  kill "$pid" 2>/dev/null || return 0
  for _ in $(seq 50); do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -9 "$pid" 2>/dev/null || true
}

case $action in
up)
  for program in slurmctld slurmd munged sbatch node; do
    command -v "$program" >/dev/null || { echo "$program is missing: apt-get install slurmctld slurmd slurm-client munge; node is that of npm" >&2; exit 1; }
  done
  rm -rf "$folder/state" "$folder/spool"
  mkdir -p "$folder/state" "$folder/spool"
  chmod 755 "$folder"
  write_configuration
  start_munge
  slurmctld -L "$folder/slurmctld.log" >/dev/null 2>&1
  slurmd -L "$folder/slurmd.log" >/dev/null 2>&1
  for _ in $(seq 150); do
    [ "$(sinfo --noheader --partition=work --format=%T 2>/dev/null)" = idle ] && { echo "$folder"; exit 0; }
    sleep 0.2
  done
  echo "the node does not become idle; the ends of the logs:" >&2
  tail -n 5 "$folder"/*.log >&2
  exit 1
  ;;
down)
  timeout 10 scancel --full --signal=KILL --user="$(id -un)" 2>/dev/null || true
  for daemon in slurmd slurmctld munged; do stop_daemon "$daemon"; done
  ;;
*)
  echo "expected up or down, not $action" >&2
  exit 2
  ;;
esac

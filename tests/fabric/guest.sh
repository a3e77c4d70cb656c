# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# For tests that change the links and devices of the machine they run on. They are skipped on any machine but a guest of the lab.
if ! grep -q 'lab\.host=' /proc/cmdline; then
	echo '1..0 # SKIP it changes the links of the machine it runs on: run it in the lab (make check-fabric)'
	exit 0
fi

# nap: waits for a tenth of a second. It reads from a FIFO that nothing writes to, because to start sleep(1) takes an emulated
# processor half as long.
nap()
{
	read -rt 0.1 <>/run/nap || true
}

# renew DEVICE KIND NETDEV: deletes the device and adds it again. An rxe device that has sent while its link was down needs this,
# because its queue pair for connection management stays in the error state.
renew()
{
	local i
	ip link set "$3" up
	timeout 60 rdma link delete "$1" 2>/dev/null
	for ((i = 0; i < 600; i++)); do
		[ -e "/sys/class/infiniband/$1" ] || break
		nap
	done
	rdma link add "$1" type "$2" netdev "$3" || echo "# $1 does not come back"
	for ((i = 0; i < 600; i++)); do
		! grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state" || return 0
		nap
	done
	echo "# $1 does not become active"
}

# limited COMMAND...: runs the command, by run() of tests/tools/tap.sh, with 64 KiB of lockable memory. It runs without CAP_IPC_LOCK,
# which would lift that limit for rxe and for siw of Linux 6.12.
limited()
{
	run setpriv --bounding-set -ipc_lock bash -c 'ulimit -l 64 && exec "$@"' limited "$@"
}

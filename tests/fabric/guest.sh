# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# For tests that change the links and devices of the machine they run on: no machine but the lab's guest is changed.
if ! grep -q 'lab\.host=' /proc/cmdline; then
	echo '1..0 # SKIP it changes the links of the machine it runs on: run it in the lab (make check-fabric)'
	exit 0
fi

# renew DEVICE KIND NETDEV: a device as new. Of an rxe that has sent into a link that is down the queue pair for connection
# management has failed for good.
renew()
{
	local i
	ip link set "$3" up
	timeout 60 rdma link delete "$1" 2>/dev/null
	for ((i = 0; i < 600; i++)); do
		[ -e "/sys/class/infiniband/$1" ] || break
		sleep 0.1
	done
	rdma link add "$1" type "$2" netdev "$3" || echo "# $1 does not come back"
	for ((i = 0; i < 600; i++)); do
		! grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state" || return 0
		sleep 0.1
	done
	echo "# $1 does not become active"
}

# limited COMMAND...: runs it, by run() of tests/tools/tap.sh, with 64 KiB of lockable memory, and without CAP_IPC_LOCK, which lifts
# that limit for rxe and for siw of Linux 6.12.
limited()
{
	run setpriv --bounding-set -ipc_lock bash -c 'ulimit -l 64 && exec "$@"' limited "$@"
}

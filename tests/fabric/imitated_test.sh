#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The quick programs of tests/api, and conversations with OFED, over imitated devices: imitated_test.sh NAME... Without a name it
# takes one of the five most common devices, each day the next one, and those programs that depend most on the device; then it runs a
# group of datconform's clauses over one of all devices, each day another group over the next device. Runs in one guest.
# shellcheck source-path=SCRIPTDIR
set -u
. "${0%/*}/joined.sh"

common=(as-mlx5 as-irdma-roce as-irdma-iwarp as-cxgb4 as-bnxt)
# five, and there are 16 devices, so in 80 days each group is run over each device
groups=('EP_RECV-*' 'EP_RDMA_READ-*' 'EP_DISC-*' 'RMR_BIND-*' 'SRQ_POST-*')
programs=()
clauses=
judged_over=
if [ $# -eq 0 ]; then
	set -- "${common[$(($(date +%s) / 86400 % ${#common[@]}))]}"
	programs=(ia mem rmr data)
	read -ra all <<<"$(grep -oE '^as-[^[:blank:]]+' "${0%/*}/profiles" | tr '\n' ' ')"
	judged_over=${all[$(($(date +%s) / 86400 % ${#all[@]}))]}
	clauses=${groups[$(($(date +%s) / 86400 % ${#groups[@]}))]}
	echo "# the day decides which devices are imitated: $1, and for the clauses $clauses of datconform $judged_over"
fi

{
	for name; do
		bash "${0%/*}/api_test.sh" --as "$name" "${programs[@]}"
		bash "${0%/*}/wire_test.sh" --as "$name" | sed -uE "s/^(not ok|ok) ([0-9]+) - /\1 \2 - $name: wire: /"
	done | sed -uE 's/^(not ok|ok) [0-9]+ - /\1 - /'
	[ -z "$judged_over" ] ||
		judged "$("${0%/*}/imitate" --adapter "$judged_over")" "$judged_over" "${0%/*}/imitate" "$judged_over" \
			./datconform --only "$clauses"
} | joined

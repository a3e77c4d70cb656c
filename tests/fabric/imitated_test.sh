#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The quick programs of tests/api, and conversations with OFED, over imitated devices: imitated_test.sh NAME... Without a name it
# takes one of the five most common devices, each day the next one, and those programs that depend most on the device. Runs in one
# guest.
# shellcheck source-path=SCRIPTDIR
set -u
. "${0%/*}/joined.sh"

common=(as-mlx5 as-irdma-roce as-irdma-iwarp as-cxgb4 as-bnxt)
programs=()
if [ $# -eq 0 ]; then
	set -- "${common[$(($(date +%s) / 86400 % ${#common[@]}))]}"
	programs=(ia mem rmr data)
	echo "# the day decides which device is imitated: $1"
fi

for name; do
	bash "${0%/*}/api_test.sh" --as "$name" "${programs[@]}"
	bash "${0%/*}/wire_test.sh" --as "$name" | sed -uE "s/^(not ok|ok) ([0-9]+) - /\1 \2 - $name: wire: /"
done | sed -uE 's/^(not ok|ok) [0-9]+ - /\1 - /' | joined

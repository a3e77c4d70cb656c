#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Automake's TAP driver, which also records how long the test takes, in whole seconds: a line ":seconds: N" at the
# end of the test's .trs file. Automake ignores fields that it does not know; ./quickstart lists the slowest tests by it.
top=$(dirname "$0")/../..
begin=$(date +%s)
sh "$top/build-aux/tap-driver.sh" "$@"
status=$?
trs=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	[ "$1" != --trs-file ] || trs=$2
	shift
done
[ -z "$trs" ] || echo ":seconds: $(($(date +%s) - begin))" >>"$trs"
exit $status

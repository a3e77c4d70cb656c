#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The conformance suite over soft0 beneath both wrappers, with nothing injected: each clause is a test. Most clauses wait for
# something not to come, so several are judged at once.
set -u
conf=$(mktemp "${TMPDIR:-/tmp}/opendat-wrapped-XXXXXX") || exit 99
trap 'rm -f "$conf" "$conf.trace"' EXIT
export DAT_OVERRIDE=$conf
cat >"$conf" <<END
soft0 u1.2 nonthreadsafe default $PWD/.libs/libdatsoft.so opendat.1.0 "" ""
fault0 u1.2 nonthreadsafe default $PWD/.libs/libdat-fault.so opendat.1.0 "soft0" ""
trace0 u1.2 nonthreadsafe default $PWD/.libs/libdat-trace.so opendat.1.0 "fault0 file=$conf.trace" ""
END
./datconform --ia trace0 --tap --jobs 6 --patience 20 --timeout 90

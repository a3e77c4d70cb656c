#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The conformance suite as a program of DAT 2.0 over soft0: the clauses that hold in both APIs, and those of 2.0. As soft0.sh.
# Under the sanitizers it is those of 2.0 alone, because sdk/wrapped.sh runs the others there, over 1.2.
set -u
only=()
[ "${SANITIZE:-no}" = no ] || only=(--only 'D20-*')
exec ./datconform --api 2.0 --ia soft0 --tap --jobs 6 --patience 20 --timeout 90 "${only[@]}"

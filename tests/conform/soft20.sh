#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The conformance suite as a program of DAT 2.0 over soft0: the clauses that hold in both APIs, and those of 2.0. As soft0.sh.
set -u
exec ./datconform --api 2.0 --ia soft0 --tap --jobs 6 --patience 20 --timeout 90

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The conformance suite over an adapter that makes registered memory shared: a program cannot tell the difference. As soft0.sh.
set -u
exec ./datconform --ia soft-memory --tap --jobs 6 --patience 20 --timeout 90

#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The conformance suite over an adapter with strict=on, which must conform as well. The other options are those of soft0.sh.
set -u
exec ./datconform --ia soft-strict --tap --jobs 6 --patience 20 --timeout 90

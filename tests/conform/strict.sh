#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The conformance suite over a strict adapter: what it punishes, the standard allows. As soft0.sh.
set -u
exec ./datconform --ia soft-strict --tap --jobs 6 --patience 20 --timeout 90

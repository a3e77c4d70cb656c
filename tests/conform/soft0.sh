#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The conformance suite over soft0: each clause is a test. Patience is for loaded machines; a clean run needs none of it.
set -u
exec ./datconform --ia soft0 --tap --jobs 2 --patience 20 --timeout 90

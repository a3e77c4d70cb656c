#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The conformance suite over soft0: each clause is a test. Patience is for loaded machines; a clean run needs none of it.
# Most clauses wait for something not to come, so several are judged at once.
set -u
exec ./datconform --ia soft0 --tap --jobs 6 --patience 20 --timeout 90

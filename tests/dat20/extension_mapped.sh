#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The IB extensions over memory that the initiator maps, where it executes atomic operations itself.
set -eu
OPENDAT_TEST_MEMORY=memfd exec tests/dat20/extension_test

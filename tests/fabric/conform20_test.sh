#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# conform_test as a program of DAT 2.0. Runs in one guest.
CONFORM_API=2.0 exec bash "${0%/*}/conform_test.sh" "$@"

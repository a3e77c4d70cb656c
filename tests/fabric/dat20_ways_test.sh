#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat20_test with each way of the programs of dapl2-utils. Runs in one guest.
DAT20_WAYS=all exec bash "${0%/*}/dat20_test.sh"

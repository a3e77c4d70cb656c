/* SPDX-License-Identifier: BSD-2-Clause */
/* The events and segments of print_types.c once more, as those of DAT 2.0. */
#define TRACE_API_20
#include "print_types.c"

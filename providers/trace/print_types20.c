/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles print_types.c a second time, with the events and segments of DAT 2.0. */
#define TRACE_API_20
#include "print_types.c"

/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles wrap_calls.c a second time, with the calls of DAT 2.0. */
#define WRAP_API_20
#include "wrap_calls.c"

/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of wrap_calls.c once more, as those of DAT 2.0. */
#define WRAP_API_20
#include "wrap_calls.c"

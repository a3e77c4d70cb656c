/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles layout.c a second time, with the layouts of DAT 2.0. */
#define FAULT_API_20
#include "layout.c"

/* SPDX-License-Identifier: BSD-2-Clause */
/* The layouts of layout.c once more, as those of DAT 2.0. */
#define FAULT_API_20
#include "layout.c"

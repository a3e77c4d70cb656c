/* SPDX-License-Identifier: BSD-2-Clause */
/* The attributes of show_attr.c once more, as those of uDAPL 2.0. */
#define SHOW_API_20
#include "show_attr.c"

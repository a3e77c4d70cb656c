/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles show_attr.c a second time, with the attributes of uDAPL 2.0. */
#define SHOW_API_20
#include "show_attr.c"

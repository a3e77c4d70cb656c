/* SPDX-License-Identifier: BSD-2-Clause */
/* DAT 2.0 for the foreign plugin and the foreign program, which see 1.2 by a generated header. */
#include <dat2/udat.h>
#include <dat2/dat_registry.h>

/* SPDX-License-Identifier: BSD-2-Clause */
/* The standard lets an implementation add names of its own in this header. OpenDAT adds none. */
#ifndef OPENDAT_DAT2_DAT_VENDOR_SPECIFIC_H
#define OPENDAT_DAT2_DAT_VENDOR_SPECIFIC_H

#include "dat_platform_specific.h"

#endif /* OPENDAT_DAT2_DAT_VENDOR_SPECIFIC_H */

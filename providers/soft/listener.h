/* SPDX-License-Identifier: BSD-2-Clause */
/* The listeners of service points. */
#ifndef SOFT_LISTENER_H
#define SOFT_LISTENER_H

#include "soft.h"

void soft_listeners_fini(struct soft_ia *ia);

#endif

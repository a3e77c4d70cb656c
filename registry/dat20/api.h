/* SPDX-License-Identifier: BSD-2-Clause */
/* The API of libdat2.so.2: DAT 2.0. */
#ifndef REGISTRY_DAT20_API_H
#define REGISTRY_DAT20_API_H

#pragma GCC visibility push(default)
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#pragma GCC visibility pop

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The API of libdat.so.1: DAT 1.2. */
#ifndef REGISTRY_DAT12_API_H
#define REGISTRY_DAT12_API_H

#pragma GCC visibility push(default)
#include <dat/udat.h>
#include <dat/dat_registry.h>
#pragma GCC visibility pop

#endif

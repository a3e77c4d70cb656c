/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface between libdat and a provider plugin, two functions each way. The plugin exports
 * dat_provider_init() and dat_provider_fini(); libdat exports the other two.
 */
#ifndef OPENDAT_DAT_REGISTRY_H
#define OPENDAT_DAT_REGISTRY_H

#include "udat.h"
#include "udat_redirection.h"
#include "dat_plugin.h"

#endif /* OPENDAT_DAT_REGISTRY_H */

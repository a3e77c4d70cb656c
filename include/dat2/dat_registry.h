/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface between libdat2 and a provider plugin of DAT 2.0, two functions each way. The
 * plugin exports dat_provider_init() and dat_provider_fini(); libdat2 exports the other two.
 */
#ifndef OPENDAT_DAT2_DAT_REGISTRY_H
#define OPENDAT_DAT2_DAT_REGISTRY_H

#include "udat.h"
#include "udat_redirection.h"
#include "../dat/dat_plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/** enum dat_ha_relationship - whether two IAs are paths of one connection */
typedef enum dat_ha_relationship {
	DAT_HA_FALSE		= 0,
	DAT_HA_TRUE		= 1,
	DAT_HA_UNKNOWN		= 2,
	DAT_HA_CONFLICTING	= 3,
	DAT_HA_EXTENSION_BASE	= 4
} DAT_HA_RELATIONSHIP;

#ifdef __cplusplus
}
#endif

#endif /* OPENDAT_DAT2_DAT_REGISTRY_H */

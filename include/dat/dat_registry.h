/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What passes between libdat and a provider plugin: two functions each way.
 */
#ifndef OPENDAT_DAT_REGISTRY_H
#define OPENDAT_DAT_REGISTRY_H

#include "udat.h"
#include "udat_redirection.h"

#ifdef __cplusplus
extern "C" {
#endif

extern DAT_RETURN dat_registry_add_provider(IN const DAT_PROVIDER *provider,
		IN const DAT_PROVIDER_INFO *provider_info);

extern DAT_RETURN dat_registry_remove_provider(IN const DAT_PROVIDER *provider,
		IN const DAT_PROVIDER_INFO *provider_info);

#define DAT_PROVIDER_INIT_FUNC_NAME			dat_provider_init
#define DAT_PROVIDER_INIT_FUNC_STR			"dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_NAME			dat_provider_fini
#define DAT_PROVIDER_FINI_FUNC_STR			"dat_provider_fini"

typedef void (*DAT_PROVIDER_INIT_FUNC)(const DAT_PROVIDER_INFO *, const char *);
typedef void (*DAT_PROVIDER_FINI_FUNC)(const DAT_PROVIDER_INFO *);

extern void dat_provider_init(IN const DAT_PROVIDER_INFO *provider_info,
		IN const char *instance_data);

extern void dat_provider_fini(IN const DAT_PROVIDER_INFO *provider_info);

#ifdef __cplusplus
}
#endif

#endif /* OPENDAT_DAT_REGISTRY_H */

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls between the registry and a provider plugin, which are declared with the same text in DAT
 * 1.2 and 2.0. No plugin includes this file: dat_registry.h does, after the types.
 */
#ifndef OPENDAT_DAT_PLUGIN_H
#define OPENDAT_DAT_PLUGIN_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dat_registry_add_provider() - make an IA known to the registry; a plugin calls it from
 *   dat_provider_init()
 * @provider: function table; it stays the plugin's, and mapped until the IA is removed
 * @provider_info: name, version and thread safety; copied
 * Returns: DAT_SUCCESS, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 *   DAT_PROVIDER_ALREADY_REGISTERED.
 * Thread safety: safe. Specification: dat_registry_add_provider(3DAT).
 */
extern DAT_RETURN dat_registry_add_provider(IN const DAT_PROVIDER *provider,
		IN const DAT_PROVIDER_INFO *provider_info);

/**
 * dat_registry_remove_provider() - take an IA off the registry; a plugin calls it from
 *   dat_provider_fini()
 * @provider: function table it was added with
 * @provider_info: name, version and thread safety it was added with
 * Returns: DAT_SUCCESS, DAT_INVALID_PARAMETER, DAT_PROVIDER_NOT_FOUND; DAT_PROVIDER_IN_USE while
 *   the IA is open.
 * Thread safety: safe. Specification: dat_registry_remove_provider(3DAT).
 */
extern DAT_RETURN dat_registry_remove_provider(IN const DAT_PROVIDER *provider,
		IN const DAT_PROVIDER_INFO *provider_info);

/* The names of the functions that the registry looks up in the plugin. */
#define DAT_PROVIDER_INIT_FUNC_NAME			dat_provider_init
#define DAT_PROVIDER_INIT_FUNC_STR			"dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_NAME			dat_provider_fini
#define DAT_PROVIDER_FINI_FUNC_STR			"dat_provider_fini"

typedef void (*DAT_PROVIDER_INIT_FUNC)(const DAT_PROVIDER_INFO *, const char *);
typedef void (*DAT_PROVIDER_FINI_FUNC)(const DAT_PROVIDER_INFO *);

/**
 * dat_provider_init() - what a plugin exports for the registry to call, before an IA is first
 *   opened
 * @provider_info: entry of dat.conf; the plugin adds exactly this name, and nothing if it fails
 * @instance_data: seventh field of the entry, a string of the plugin's own grammar
 * The registry holds no lock during the call. One library is called once for each of its names.
 * Returns: nothing; a plugin that adds no provider makes the open fail.
 * Thread safety: safe. Specification: dat_provider_init(3DAT).
 */
extern void dat_provider_init(IN const DAT_PROVIDER_INFO *provider_info,
		IN const char *instance_data);

/**
 * dat_provider_fini() - what a plugin exports for the registry to call, after the last close of an
 *   IA
 * @provider_info: as for dat_provider_init(); the plugin removes this name
 * The library may be unloaded afterwards: no thread of the plugin may be left.
 * Returns: nothing.
 * Thread safety: safe. Specification: dat_provider_fini(3DAT).
 */
extern void dat_provider_fini(IN const DAT_PROVIDER_INFO *provider_info);

#ifdef __cplusplus
}
#endif

#endif /* OPENDAT_DAT_PLUGIN_H */

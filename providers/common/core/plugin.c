/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the registrations: one for each time that a plugin was initialised, from dat_provider_init
 * to dat_provider_fini. Several may have one IA name. Invariant: a registration that can be found
 * is complete, and one with IAs open stays.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/common/dat12/dat12.h"
#include "providers/common/wrap/wrap.h"
#include "tell.h"

struct core core;

/*
 * A child of fork() has none of the service threads, and what the transports share with peers is
 * the parent's: every handle is dead in it. It may open anew.
 */
static void after_fork_in_child(void)
{
	obj_forget_all();
	ep_forget_all();
	sp_forget_all();
	wrap_forget_all();
	log_forget();
	for (struct ia_priv *ia = core.ias; ia; ia = ia->next)
		loop_forget(ia->loop);
	core.ias = NULL;
	for (struct plugin *plugin = core.plugins; plugin; plugin = plugin->next)
		plugin->opens = 0;
	atomic_store_explicit(&core.lock, 0, memory_order_relaxed);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, after_fork_in_child);
}

static struct plugin *nth_locked(const char *name, uint32_t nth)
{
	struct plugin *plugin;

	for (plugin = core.plugins; plugin; plugin = plugin->next)
		if (plugin->nth == nth && !strcmp(plugin->info.ia_name, name))
			break;
	return plugin;
}

/* Takes the first place among those of its name. False: there are too many of them. */
static bool plugin_list(struct plugin *plugin)
{
	uint32_t nth = 0;

	datp_lock(&core.lock);
	while (nth < PLUGIN_NTHS && nth_locked(plugin->info.ia_name, nth))
		nth++;
	if (nth < PLUGIN_NTHS) {
		log_name_add(&plugin->log_name);
		plugin->nth = nth;
		plugin->next = core.plugins;
		core.plugins = plugin;
	}
	datp_unlock(&core.lock);
	return nth < PLUGIN_NTHS;
}

static void plugin_unlist(struct plugin *plugin)
{
	struct plugin **at;

	datp_lock(&core.lock);
	for (at = &core.plugins; *at; at = &(*at)->next) {
		if (*at == plugin) {
			*at = plugin->next;
			break;
		}
	}
	datp_unlock(&core.lock);
	log_name_remove(&plugin->log_name);
}

/* Nothing opens it from here on, and its place stays its own. False: IAs are open through it. */
static bool plugin_leave(struct plugin *plugin)
{
	datp_lock(&core.lock);
	plugin->leaving = !plugin->opens;
	datp_unlock(&core.lock);
	return plugin->leaving;
}

static void plugin_stay(struct plugin *plugin)
{
	datp_lock(&core.lock);
	plugin->leaving = false;
	datp_unlock(&core.lock);
}

static void plugin_delete(struct plugin *plugin)
{
	free(plugin->params);
	free(plugin);
}

/* One of the two is NULL. */
static struct plugin *plugin_new(const struct datp_plugin *desc, const struct datp_wrapper *wrapper,
				 const DAT_PROVIDER_INFO *info, const char *params)
{
	struct plugin *plugin = calloc(1, sizeof(*plugin));
	struct datp_wrap_ops ops;

	if (!plugin)
		goto no_memory;
	plugin->desc = desc;
	plugin->wrapper = wrapper;
	plugin->info = *info;
	snprintf(plugin->provider, sizeof(plugin->provider), "%s",
		 desc ? desc->name : wrapper->name);
	plugin->log_name = (struct log_name){ .adapter = plugin->info.ia_name,
					      .provider = plugin->provider };
	if (desc ? !plugin_negotiate(desc, &plugin->ops) : !wrap_negotiate(wrapper, &ops))
		goto free_plugin;
	plugin->params = strdup(params ? params : "");
	if (plugin->params)
		return plugin;

no_memory:
	plugin_refuse("no memory for plugin \"%s\"; free some and open it again",
		      desc ? desc->name : wrapper->name);
free_plugin:
	free(plugin);
	return NULL;
}

static void plugin_register(struct plugin *plugin)
{
	DAT_RETURN ret;

	if (!plugin_list(plugin)) {
		plugin_refuse("%d adapters have this name already; leave out some lines",
			      PLUGIN_NTHS);
		goto delete;
	}
	/* Nobody opens it before libdat knows its table. */
	if (plugin->desc)
		dat12_table_fill(&plugin->table, plugin->info.ia_name, plugin->nth,
				 &plugin->desc->fast);
	plugin->table.device_name = plugin->info.ia_name;
	plugin->table.ia_open_func = dat12_ia_opener(plugin->nth);
	/* No lock is held: libdat may call back. */
	ret = dat_registry_add_provider(&plugin->table, &plugin->info);
	if (ret == DAT_SUCCESS)
		return;
	plugin_refuse("DUTY-01: libdat refuses to register %s (0x%x); see that the name is "
		      "registered once only",
		      plugin->info.ia_name, ret);
	plugin_unlist(plugin);
	delete : plugin_delete(plugin);
}

static void init(const struct datp_plugin *desc, const struct datp_wrapper *wrapper,
		 const DAT_PROVIDER_INFO *info, const char *params)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct plugin *plugin;

	if (plugin_dump_takes(desc, wrapper))
		return;
	pthread_once(&once, watch_forks);
	plugin_refuse_begin();
	plugin = plugin_new(desc, wrapper, info, params);
	if (plugin)
		plugin_register(plugin);
}

DATP_API void datp_plugin_init(const struct datp_plugin *desc, const DAT_PROVIDER_INFO *info,
			       const char *params)
{
	init(desc, NULL, info, params);
}

DATP_API void datp_wrapper_init(const struct datp_wrapper *wrapper, const DAT_PROVIDER_INFO *info,
				const char *params)
{
	init(NULL, wrapper, info, params);
}

static struct plugin *plugin_find(const struct datp_plugin *desc,
				  const struct datp_wrapper *wrapper, const DAT_PROVIDER_INFO *info)
{
	struct plugin *plugin;

	datp_lock(&core.lock);
	for (plugin = core.plugins; plugin; plugin = plugin->next)
		if (plugin->desc == desc && plugin->wrapper == wrapper &&
		    !strcmp(plugin->info.ia_name, info->ia_name) &&
		    plugin->info.dapl_version_major == info->dapl_version_major &&
		    plugin->info.dapl_version_minor == info->dapl_version_minor &&
		    !plugin->info.is_thread_safe == !info->is_thread_safe)
			break;
	datp_unlock(&core.lock);
	return plugin;
}

static void fini(struct plugin *plugin)
{
	if (!plugin)
		return;
	if (!plugin_leave(plugin))
		goto in_use;
	/* No lock is held: libdat may call back. */
	if (DAT_GET_TYPE(dat_registry_remove_provider(&plugin->table, &plugin->info)) ==
	    DAT_PROVIDER_IN_USE)
		goto stay;
	plugin_unlist(plugin);
	plugin_delete(plugin);
	return;

stay:
	plugin_stay(plugin);
in_use:
	datp_log(1, "%s: DUTY-13: asked to unload it while it is open; close every IA first",
		 plugin->info.ia_name);
}

DATP_API void datp_plugin_fini(const struct datp_plugin *desc, const DAT_PROVIDER_INFO *info)
{
	fini(plugin_find(desc, NULL, info));
}

DATP_API void datp_wrapper_fini(const struct datp_wrapper *wrapper, const DAT_PROVIDER_INFO *info)
{
	fini(plugin_find(NULL, wrapper, info));
}

struct plugin *plugin_get(const char *name, uint32_t nth)
{
	struct plugin *plugin;

	datp_lock(&core.lock);
	plugin = nth_locked(name, nth);
	if (plugin && plugin->leaving)
		plugin = NULL;
	if (plugin)
		plugin->opens++;
	datp_unlock(&core.lock);
	return plugin;
}

void plugin_put(struct plugin *plugin)
{
	datp_lock(&core.lock);
	plugin->opens--;
	datp_unlock(&core.lock);
}

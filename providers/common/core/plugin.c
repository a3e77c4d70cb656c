/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the registrations: one for each time that a plugin was initialised, from dat_provider_init
 * to dat_provider_fini. Several may have the same IA name. Invariant: a registration that can be
 * found is complete, and a registration with open IAs stays.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "loan.h"
#include "providers/common/base/refuse.h"

struct core core;

/*
 * A child of fork() has none of the service threads, and the memory that transports share with
 * peers is the parent's: so every handle is invalid in the child, which may open adapters itself.
 */
static void after_fork_in_child(void)
{
	obj_forget_all();
	ep_forget_all();
	loan_forget_all();
	sp_forget_all();
	log_forget();
	for (struct ia_priv *ia = core.ias; ia; ia = ia->next)
		if (ia->loop) /* else it is being closed */
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

/*
 * Gives the plugin the first free number among the plugins of its name. Returns false if there are too
 * many of them.
 */
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

/*
 * From here on nothing can be opened through this registration, and its number is not reused.
 * Returns false if IAs are open through it.
 */
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
	free(plugin->table);
	free(plugin);
}

/*
 * Removes each word counters=on or counters=off from the parameters, because plugins do not know them. Returns false after
 * plugin_refuse() if there is another value.
 */
static bool take_counters(struct plugin *plugin)
{
	static const char key[] = "counters=", blanks[] = " \t";
	const char *from = plugin->params;
	char *to = plugin->params;

	while (*from) {
		size_t between = strspn(from, blanks), length = strcspn(from + between, blanks);
		const char *word = from + between, *value = word + sizeof(key) - 1;

		if (strncmp(word, key, sizeof(key) - 1) != 0) {
			memmove(to, from, between + length);
			to += between + length;
		} else if (length == sizeof("counters=on") - 1 && !strncmp(value, "on", 2)) {
			plugin->counters = true;
		} else if (length == sizeof("counters=off") - 1 && !strncmp(value, "off", 3)) {
			plugin->counters = false;
		} else {
			plugin_refuse("\"%.*s\" in dat.conf is neither counters=on nor counters=off; write one of them",
				      (int)length, word);
			return false;
		}
		from = word + length;
	}
	*to = '\0';
	return true;
}

static struct plugin *plugin_new(const struct edge *edge, const struct plugin *what,
				 const char *name, const char *params)
{
	struct plugin *plugin = malloc(sizeof(*plugin));

	if (!plugin)
		goto no_memory;
	*plugin = *what;
	plugin->edge = edge;
	snprintf(plugin->provider, sizeof(plugin->provider), "%s", name);
	plugin->log_name = (struct log_name){ .adapter = plugin->info.ia_name,
					      .provider = plugin->provider };
	plugin->table = calloc(1, edge->table_size);
	plugin->params = strdup(params ? params : "");
	if (plugin->table && plugin->params)
		return plugin;
	plugin_delete(plugin);

no_memory:
	plugin_refuse("no memory for plugin \"%s\"; free some and open it again", name);
	return NULL;
}

static void plugin_register(struct plugin *plugin)
{
	DAT_RETURN ret;

	if (!plugin_list(plugin)) {
		plugin_refuse("%d adapters have this name already; leave out some lines",
			      PLUGIN_NTHS);
		plugin_delete(plugin);
		return;
	}
	/* It cannot be opened before libdat knows its table. */
	plugin->edge->table_fill(plugin);
	/* No lock is held, because libdat may call back. */
	ret = plugin->edge->announce(plugin);
	if (ret == DAT_SUCCESS)
		return;
	plugin_refuse("DUTY-01: libdat refuses to register %s (0x%x); see that the name is "
		      "registered once only",
		      plugin->info.ia_name, ret);
	plugin_unlist(plugin);
	plugin_delete(plugin);
}

void plugin_add(const struct edge *edge, const struct plugin *what, const char *name,
		const char *params)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct plugin *plugin;

	pthread_once(&once, watch_forks);
	plugin = plugin_new(edge, what, name, params);
	if (!plugin)
		return;
	if (take_counters(plugin))
		plugin_register(plugin);
	else
		plugin_delete(plugin);
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

void plugin_remove(const struct datp_plugin *desc, const struct datp_wrapper *wrapper,
		   const DAT_PROVIDER_INFO *info)
{
	struct plugin *plugin = plugin_find(desc, wrapper, info);

	if (!plugin)
		return;
	if (!plugin_leave(plugin))
		goto in_use;
	/* No lock is held, because libdat may call back. */
	if (!plugin->edge->withdraw(plugin))
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

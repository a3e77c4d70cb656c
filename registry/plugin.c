/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of a plugin behind one line of the static registry: loaded and initialised by the first
 * open, finished and unloaded by the last close.
 *
 *	IDLE -> LOADING -> READY -> UNLOADING -> IDLE		LOADING -> IDLE when it fails
 *
 * Invariant: dat_provider_init and dat_provider_fini alternate, and run in one thread at a time for
 * each line, with no lock held. Other threads wait until the plugin is neither loading nor
 * unloading; a wait that could never end is refused (init opens the adapter that it is to provide,
 * or two inits wait for each other).
 */
#include "loader_why.h"
#include "reg.h"

#include <dat/dat_registry.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Returns true if waiting for p would close a circle of threads that wait for each other's plugins.
 */
static bool wait_is_circular_locked(const struct reg_plugin *p)
{
	const struct reg_thread *t;

	for (; p; p = t->waits_for) {
		t = p->thread;
		if (t == &reg_self)
			return true;
		if (!t)
			return false;
	}
	return false;
}

/*
 * Waits until a plugin, perhaps p, changes its state. Returns 0, or -EDEADLK if p waits for this
 * thread.
 */
int plugin_wait_locked(struct reg_plugin *p)
{
	if (wait_is_circular_locked(p))
		return -EDEADLK;
	reg_self.waits_for = p;
	pthread_cond_wait(&reg.changed, &reg.lock);
	reg_self.waits_for = NULL;
	return 0;
}

/*
 * Stores the latest reason for a failure. Takes ownership of `why`, which is NULL if there was no
 * memory for it.
 */
void plugin_why_locked(struct reg_plugin *p, char *why)
{
	char *before = p->why;

	/* in this order: a child of fork() may have been made in between */
	p->why = why;
	free(before);
}

__attribute__((format(printf, 2, 3)))
static char *why_format(const struct reg_plugin *p, const char *fmt, ...)
{
	const struct conf_entry *e = p->entry;
	char *text, *whole;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return NULL;
	n = asprintf(&whole, "%s:%u: %s: library %s: %s", e->file, e->line, e->name, e->library,
		     text);
	free(text);
	return n < 0 ? NULL : whole;
}

/*
 * Skips the library's name at the beginning of the loader's words, because the message has it
 * already.
 */
static const char *words_proper(const struct reg_plugin *p, const char *words)
{
	size_t length = strlen(p->entry->library);

	return !strncmp(words, p->entry->library, length) && !strncmp(words + length, ": ", 2) ?
		       words + length + 2 :
		       words;
}

/* Returns the reason why the loader did not load p's library, with the remedy, as malloced text, or NULL. */
static char *loader_complaint(const struct reg_plugin *p, const char *words)
{
	const char *library = p->entry->library, *said = words_proper(p, words);
	size_t file;

	switch (loader_why(library, words, &file)) {
	case LOADER_WHY_DENIED:
		return why_format(p, "%s; let programs read it: chmod a+rx '%.*s'", said, (int)file,
				  words);
	case LOADER_WHY_NEEDS:
		return why_format(p, "%s; install the package that contains %.*s", said, (int)file,
				  words);
	case LOADER_WHY_MISFIT:
		return why_format(p, "%s; it was built for another version of a library that it "
				  "uses: install the versions that belong together", said);
	case LOADER_WHY_MISSING:
		if (library_is_ours(library))
			return why_format(p, "%s; " LOADER_WHY_PACKAGE ", or correct the library "
					  "in that line", said);
		break;
	case LOADER_WHY_BROKEN:
		break;
	}
	return why_format(p, "%s; install the provider, or correct the library in that line", said);
}

/*
 * Removes the records that p has left in the registry, because their code is about to be unloaded.
 */
static void records_purge_locked(struct reg_plugin *p)
{
	struct reg_record **link = &reg.records;
	struct reg_record *r;

	while ((r = *link)) {
		if (r->plugin != p) {
			link = &r->next;
			continue;
		}
		*link = r->next;
		r->front->table_remove_locked(r->table);
		reg.nrecords--;
		free(r);
	}
	reg.records_tail = link;
}

/*
 * In a forked child: the thread of the parent that was loading or unloading p does not exist here, so p counts as not loaded. The
 * library stays in memory.
 */
void plugin_forked_locked(struct reg_plugin *p)
{
	if (!p->thread || p->thread == &reg_self)
		return;
	records_purge_locked(p);
	p->state = PLUGIN_IDLE;
	p->thread = NULL;
	p->opens = 0;
	p->lib = NULL;
	p->initialised = false;
	/* the thread may have freed it */
	p->said = NULL;
}

/* Undoes what plugin_load() did. The lock is not held; p->thread is this thread. */
static void plugin_unload(struct reg_plugin *p)
{
	struct reg_plugin *outer = reg_self.plugin;
	DAT_PROVIDER_FINI_FUNC fini;

	if (!p->lib)
		return;
	reg_self.plugin = p;
	fini = (DAT_PROVIDER_FINI_FUNC)(uintptr_t)loader_symbol(p->lib, DAT_PROVIDER_FINI_FUNC_STR);
	if (p->initialised && fini)
		fini(&p->info);
	p->initialised = false;
	pthread_mutex_lock(&reg.lock);
	records_purge_locked(p);
	pthread_mutex_unlock(&reg.lock);
	loader_close(p->lib);
	p->lib = NULL;
	reg_self.plugin = outer;
}

/* The function that plugin_words() calls, or NULL. Every library that is linked with libdatp has it. */
static void *words_function(struct reg_plugin *p)
{
	return loader_symbol(p->lib, "datp_plugin_why");
}

/*
 * Returns the library's own reason for its latest failure, or NULL. A provider library may export a
 * function for that, as libdatp does. The text is a malloced copy, because the original belongs to
 * the library. The lock is not held; the library is loaded.
 */
char *plugin_words(struct reg_plugin *p)
{
	const char *(*why)(void);
	const char *words;

	why = (const char *(*)(void))(uintptr_t)words_function(p);
	words = why ? why() : NULL;
	return words ? strdup(words) : NULL;
}

/*
 * Loads and initialises a plugin. The lock is not held; p->thread is this thread. Returns 0, or
 * -ENOENT with *why, or -ENOMEM.
 */
static int plugin_load(struct reg_plugin *p, char **why)
{
	struct reg_plugin *outer = reg_self.plugin;
	DAT_PROVIDER_INIT_FUNC init;
	char *words;

	reg_self.plugin = p;
	p->lib = loader_open(p->entry->library, &words);
	if (!p->lib) {
		if (words)
			*why = loader_complaint(p, words);
		free(words);
		goto fail;
	}
	init = (DAT_PROVIDER_INIT_FUNC)(uintptr_t)loader_symbol(p->lib, DAT_PROVIDER_INIT_FUNC_STR);
	if (!init) {
		*why = why_format(p,
				  "DUTY-01: %s has no symbol %s, so it is not a DAT provider; "
				  "correct the library in that line",
				  loader_path(p->lib), DAT_PROVIDER_INIT_FUNC_STR);
		plugin_unload(p);
		goto fail;
	}
	/* A library that only has the name of one of ours would register a table of the wrong API. */
	if (plugin_is_for_another_api(p) && !words_function(p)) {
		*why = why_format(p,
				  "%s is not OpenDAT's, so its line serves programs of uDAPL %u.%u only; "
				  "add a line for those of %u.%u",
				  loader_path(p->lib), p->entry->major, p->entry->minor,
				  p->info.dapl_version_major, p->info.dapl_version_minor);
		plugin_unload(p);
		goto fail;
	}
	p->initialised = true;
	init(&p->info, p->entry->ia_params);
	free(p->said);
	p->said = plugin_words(p);
	reg_self.plugin = outer;
	return 0;

fail:
	reg_self.plugin = outer;
	return *why ? -ENOENT : -ENOMEM;
}

static void plugin_settle_locked(struct reg_plugin *p, enum plugin_state state)
{
	p->state = state;
	p->thread = NULL;
	pthread_cond_broadcast(&reg.changed);
}

/*
 * Counts one more open of p, and loads p for the first one. The lock is released meanwhile. Returns
 * 0, -ENOENT (see p->why), -EDEADLK or -ENOMEM.
 */
int plugin_acquire_locked(struct reg_plugin *p)
{
	char *why = NULL;
	int err;

	while (p->state == PLUGIN_LOADING || p->state == PLUGIN_UNLOADING) {
		err = plugin_wait_locked(p);
		if (err) {
			plugin_why_locked(
				p, why_format(p, "DUTY-17: the adapter was opened from within a "
						 "provider's initialisation, which waits for "
						 "it; open it from somewhere else"));
			return err;
		}
	}
	p->opens++;
	if (p->state == PLUGIN_READY)
		return 0;
	p->state = PLUGIN_LOADING;
	p->thread = &reg_self;
	pthread_mutex_unlock(&reg.lock);
	err = plugin_load(p, &why);
	pthread_mutex_lock(&reg.lock);
	if (err) {
		p->opens--;
		plugin_why_locked(p, why);
	}
	plugin_settle_locked(p, err ? PLUGIN_IDLE : PLUGIN_READY);
	return err;
}

/* Counts one open less, and unloads p after the last one. The lock is released meanwhile. */
void plugin_release_locked(struct reg_plugin *p)
{
	if (--p->opens)
		return;
	p->state = PLUGIN_UNLOADING;
	p->thread = &reg_self;
	pthread_mutex_unlock(&reg.lock);
	plugin_unload(p);
	pthread_mutex_lock(&reg.lock);
	plugin_settle_locked(p, PLUGIN_IDLE);
}

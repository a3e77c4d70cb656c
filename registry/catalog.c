/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The catalogue: the static registry's lines and the dynamic registry's providers, and which of
 * them serves an open request.
 *
 * A provider serves an open request for (name, major, minor, thread safety) if the name and the major
 * version are equal, its minor version is not lower, and it is thread-safe if that is asked for.
 * Among several, the nearest minor version is preferred, then the same thread safety, then the
 * earlier line. If a line cannot be opened, the next line of the same name is tried, unless
 * DAT_PROVIDERS says :strict. Lines that DAT_PROVIDERS hides do not exist for programs.
 *
 * Some lines for 1.2 serve programs of 2.0 as well (conf_apis.c). They come after all lines that say
 * 2.0, so that a program which takes the first adapter of the list gets what such a line says.
 *
 * Invariant: a record is unlinked only while its count of opens is 0. Its front stays at least as
 * long, because the library of a front that is in use is not unloaded.
 */
#include "reg.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct registry reg = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
	.records_tail = &reg.records,
};

_Thread_local struct reg_thread reg_self;

/*
 * How well an offer matches an open request. The first property that does not match decides the subtype
 * of the error.
 */
enum match {
	MATCH_NONE,
	MATCH_NAME,
	MATCH_MAJOR,
	MATCH_MINOR,
	MATCH_FULL,
};

struct offer {
	const char *name;
	unsigned int major;
	unsigned int minor;
	bool thread_safe;
};

static struct offer info_offer(const DAT_PROVIDER_INFO *info)
{
	return (struct offer){ info->ia_name, info->dapl_version_major, info->dapl_version_minor,
			       info->is_thread_safe != DAT_FALSE };
}

static struct offer plugin_offer(const struct reg_plugin *p)
{
	return info_offer(&p->info);
}

static enum match offer_match(const struct offer *o, const struct reg_open_request *rq)
{
	if (strcmp(o->name, rq->name))
		return MATCH_NONE;
	if (o->major != rq->major || rq->major != rq->front->major)
		return MATCH_NAME;
	if (o->minor < rq->minor)
		return MATCH_MAJOR;
	if (rq->thread_safe && !o->thread_safe)
		return MATCH_MINOR;
	return MATCH_FULL;
}

/*
 * Returns how far an offer that matches fully is from the open request: 0 if it matches exactly; a
 * smaller value is better.
 */
static unsigned long offer_distance(const struct offer *o, const struct reg_open_request *rq)
{
	return ((unsigned long)o->minor - rq->minor) * 2 + (o->thread_safe != rq->thread_safe);
}

/*
 * Converts a match to an error. The subtypes are in the order of enum match. A provider that is
 * offered, but could not be loaded, counts as one whose name is not registered.
 */
static DAT_RETURN match_status(const struct reg_front *front, enum match match)
{
	unsigned int after = match == MATCH_FULL ? MATCH_NONE : match;

	return REG_ERROR(DAT_PROVIDER_NOT_FOUND, front->name_not_registered + after);
}

static void info_fill(DAT_PROVIDER_INFO *info, const struct conf_entry *e, unsigned int major,
		      unsigned int minor)
{
	memset(info, 0, sizeof(*info));
	strncpy(info->ia_name, e->name, DAT_NAME_MAX_LENGTH - 1);
	info->dapl_version_major = major;
	info->dapl_version_minor = minor;
	info->is_thread_safe = e->thread_safe ? DAT_TRUE : DAT_FALSE;
}

static void plugin_append_locked(const struct conf_entry *e, unsigned int major, unsigned int minor)
{
	struct reg_plugin *p = &reg.plugins[reg.nplugins++];

	p->entry = e;
	info_fill(&p->info, e, major, minor);
}

static int info_order(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	int order = strcmp(a->ia_name, b->ia_name);

	if (!order)
		order = (a->dapl_version_major > b->dapl_version_major) - (a->dapl_version_major < b->dapl_version_major);
	if (!order)
		order = (a->dapl_version_minor > b->dapl_version_minor) - (a->dapl_version_minor < b->dapl_version_minor);
	return order ? order : !b->is_thread_safe - !a->is_thread_safe;
}

/* Earlier lines go before later ones that offer the same. */
static int plugin_order(const void *a, const void *b)
{
	const struct reg_plugin *const *x = a, *const *y = b;
	int order = info_order(&(*x)->info, &(*y)->info);

	return order ? order : (*x > *y) - (*x < *y);
}

/* Marks the plugins that dat_registry_list_providers leaves out, because an earlier one has the same info. */
static int repeats_mark_locked(void)
{
	struct reg_plugin **shown = malloc((reg.nplugins ? reg.nplugins : 1) * sizeof(struct reg_plugin *)), *p;
	unsigned int i, n = 0;

	if (!shown)
		return -ENOMEM;
	for (p = reg.plugins; p < reg.plugins + reg.nplugins; p++)
		if (p->entry->hidden == CONF_SHOWN)
			shown[n++] = p;
	qsort(shown, n, sizeof(struct reg_plugin *), plugin_order);
	for (i = 1; i < n; i++)
		shown[i]->repeats = !info_order(&shown[i - 1]->info, &shown[i]->info);
	free(shown);
	return 0;
}

static void plugins_free_locked(void)
{
	free(reg.plugins);
	reg.plugins = NULL;
	reg.nplugins = 0;
}

static int plugins_make_locked(void)
{
	const struct conf_entry *e;
	unsigned int n = 0;
	int err;

	for (e = reg.conf.entries; e; e = e->next)
		n += e->skip == CONF_USED ? 2 : 0;
	reg.plugins = calloc(n ? n : 1, sizeof(*reg.plugins));
	if (!reg.plugins)
		return -ENOMEM;
	for (e = reg.conf.entries; e; e = e->next)
		if (e->skip == CONF_USED)
			plugin_append_locked(e, e->major, e->minor);
	reg.nlines = reg.nplugins;
	for (e = reg.conf.entries; e; e = e->next)
		if (conf_serves_20(&reg.conf, e))
			plugin_append_locked(e, 2, 0);
	err = repeats_mark_locked();
	if (err)
		plugins_free_locked();
	return err;
}

static void conf_diags_print(void)
{
	const struct conf_diag *d;

	diag_print(DIAG_SR, "static registry: %s, adapters: %u, complaints: %u%s%s",
		   reg.conf.origin, reg.nlines, reg.conf.ndiags,
		   reg.conf.providers ? "; DAT_PROVIDERS=" : "",
		   reg.conf.providers ? reg.conf.providers : "");
	for (d = reg.conf.diags; d; d = d->next)
		diag_print(DIAG_SR, "%s:%u:%u: %s: %s", d->file, d->line, d->column,
			   conf_field_name(d->field), d->text);
}

static bool front_is_there_locked(const struct reg_front *front)
{
	int i;

	for (i = 0; i < REG_FRONTS_MAX; i++)
		if (reg.fronts[i] == front)
			return true;
	return false;
}

/* Returns the front of an API's major version, or NULL if its library is not loaded. */
static const struct reg_front *front_of_locked(unsigned int major)
{
	int i;

	for (i = 0; i < REG_FRONTS_MAX; i++)
		if (reg.fronts[i] && reg.fronts[i]->major == major)
			return reg.fronts[i];
	return NULL;
}

/*
 * Reads the static registry, once per process. The lock is held meanwhile, because this only reads
 * files. If there is not enough memory, nothing is kept, and the next call tries again. A
 * destructor may call this after the front has been removed.
 */
DAT_RETURN catalog_ready(const struct reg_front *front)
{
	DAT_RETURN rc = DAT_SUCCESS;
	struct cancel own = cancel_off();
	bool first = false;

	pthread_mutex_lock(&reg.lock);
	if (reg.gone || !front_is_there_locked(front)) {
		rc = REG_ERROR(DAT_INVALID_STATE, 0);
	} else if (!reg.ready) {
		conf_init(&reg.conf);
		if (conf_read_system(&reg.conf) || plugins_make_locked()) {
			conf_free(&reg.conf);
			rc = REG_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
		} else {
			reg.ready = first = true;
		}
	}
	pthread_mutex_unlock(&reg.lock);
	if (first && diag_wanted(DIAG_SR))
		conf_diags_print();
	cancel_restore(own);
	return rc;
}

/*
 * Returns true if this thread may use r now: it may not while another thread initialises or
 * finishes the plugin behind it.
 */
static bool record_settled_locked(const struct reg_record *r)
{
	const struct reg_plugin *p = r->plugin;

	return !p || p->state == PLUGIN_READY ||
	       (p->state == PLUGIN_LOADING && p->thread == &reg_self);
}

/*
 * Returns true if the line is hidden from this thread. A provider such as a wrapper may open an
 * adapter beneath its own that the program cannot name.
 */
bool plugin_is_hidden(const struct reg_plugin *p)
{
	return p->entry->hidden == CONF_EXCLUDED ||
	       (p->entry->hidden == CONF_NOT_INCLUDED && !reg_self.plugin);
}

/*
 * Returns the best record for an open request, of any plugin or of the given one, among those that this
 * thread may use now. Raises *seen to the best match of any record. Sets *busy to a plugin that
 * another thread is loading or unloading, and that has a record that would serve.
 */
static struct reg_record *record_find_locked(const struct reg_open_request *rq,
					     const struct reg_plugin *of, enum match *seen,
					     struct reg_plugin **busy)
{
	struct reg_record *best = NULL;
	unsigned long best_distance = 0;
	struct reg_record *r;
	unsigned long d;
	struct offer o;
	enum match m;

	for (r = reg.records; r; r = r->next) {
		if ((of && r->plugin != of) || (r->plugin && plugin_is_hidden(r->plugin)))
			continue;
		o = info_offer(&r->info);
		m = offer_match(&o, rq);
		if (m != MATCH_FULL) {
			if (m > *seen)
				*seen = m;
			continue;
		}
		if (!record_settled_locked(r)) {
			if (busy)
				*busy = r->plugin;
			continue;
		}
		d = offer_distance(&o, rq);
		if (!best || d < best_distance) {
			best = r;
			best_distance = d;
		}
	}
	return best;
}

/*
 * Returns the next line to try for an open request: the best one that ranks below the line that was tried
 * last.
 */
static struct reg_plugin *plugin_next(const struct reg_open_request *rq, const struct reg_plugin *last)
{
	struct reg_plugin *best = NULL;
	unsigned long d, best_distance = 0, last_distance = 0;
	struct reg_plugin *p;
	struct offer o;

	if (last) {
		o = plugin_offer(last);
		last_distance = offer_distance(&o, rq);
	}
	for (p = reg.plugins; p < reg.plugins + reg.nplugins; p++) {
		o = plugin_offer(p);
		if (offer_match(&o, rq) != MATCH_FULL || plugin_is_hidden(p))
			continue;
		d = offer_distance(&o, rq);
		if (last && (d < last_distance || (d == last_distance && p <= last)))
			continue;
		if (!best || d < best_distance) {
			best = p;
			best_distance = d;
		}
	}
	return best;
}

static void record_take_locked(struct reg_record *r)
{
	r->opens++;
	if (r->plugin)
		r->plugin->opens++;
}

/* Lists for a message what p has registered. Returns the number. */
static unsigned int records_list_locked(const struct reg_plugin *p, char *buf, size_t size)
{
	const DAT_PROVIDER_INFO *i;
	const struct reg_record *r;
	unsigned int n = 0;
	size_t used = 0;

	*buf = '\0';
	for (r = reg.records; r; r = r->next) {
		if (r->plugin != p)
			continue;
		i = &r->info;
		if (n++ < 4 && used < size)
			used += (size_t)snprintf(
				buf + used, size - used, "%s%.60s u%u.%u %s", n > 1 ? ", " : "",
				i->ia_name, i->dapl_version_major, i->dapl_version_minor,
				i->is_thread_safe ? "threadsafe" : "nonthreadsafe");
	}
	return n;
}

static struct reg_record *record_of_locked(const DAT_PROVIDER_INFO *info);

/*
 * Sets the reason for a plugin p that is loaded, but has registered nothing that serves the
 * request.
 */
static void plugin_useless_locked(struct reg_plugin *p)
{
	const struct reg_record *other = record_of_locked(&p->info);
	const struct conf_entry *e = p->entry;
	char list[512];
	char *why;
	int n;

	if (records_list_locked(p, list, sizeof(list)))
		n = asprintf(
			&why,
			"%s:%u: %s: DUTY-01: library %s registered %s instead of what was asked for; "
			"correct the name, version or thread safety in that line",
			e->file, e->line, e->name, e->library, list);
	else if (other && other->plugin)
		n = asprintf(&why,
			     "%s:%u: %s: library %s: cannot serve while the program has an adapter "
			     "of %s:%u open, which has the same name; give it a name of its own",
			     e->file, e->line, e->name, e->library, other->plugin->entry->file,
			     other->plugin->entry->line);
	else if (p->said)
		n = asprintf(&why, "%s:%u: %s: library %s: %s", e->file, e->line, e->name,
			     e->library, p->said);
	else
		n = asprintf(
			&why,
			"%s:%u: %s: library %s registered no adapter for the parameters "
			"\"%.80s\"; correct them in that line, or check that the device is there",
			e->file, e->line, e->name, e->library, e->ia_params);
	plugin_why_locked(p, n < 0 ? NULL : why);
}

/*
 * Loads p and returns a record that serves the open request, only one of p if other lines have been
 * tried. Called with the lock, which is released meanwhile.
 */
static int plugin_try_locked(struct reg_plugin *p, const struct reg_open_request *rq, bool alone,
			     enum match *seen, struct reg_record **record)
{
	int err = plugin_acquire_locked(p);

	if (err)
		return err;
	*record = record_find_locked(rq, alone ? p : NULL, seen, NULL);
	if (*record) {
		record_take_locked(*record);
		plugin_why_locked(p, NULL);
	} else {
		plugin_useless_locked(p);
	}
	plugin_release_locked(p);
	return *record ? 0 : -ENOENT;
}

/*
 * Returns a registered provider that matches exactly, or NULL. May wait for a plugin that is
 * loading.
 */
static struct reg_record *record_there_locked(const struct reg_open_request *rq, enum match *seen)
{
	struct reg_plugin *busy;
	struct reg_record *r;
	struct offer o;

	for (;;) {
		busy = NULL;
		r = record_find_locked(rq, NULL, seen, &busy);
		if (r) {
			o = info_offer(&r->info);
			if (!offer_distance(&o, rq))
				return r;
		}
		if (!busy || plugin_wait_locked(busy))
			return NULL;
	}
}

/*
 * Finds a provider for an open request, loads its plugin if necessary, and counts an open for it. A
 * registered provider that matches exactly comes first; then the lines of the static registry, the
 * best first, until one works; then providers that have registered themselves. If it is called
 * again for the same request, it goes on with the next line.
 */
static int record_acquire_locked(const struct reg_open_request *rq, struct reg_search *search,
				 enum match *seen, bool *tried, struct reg_record **record)
{
	struct reg_record *r = search->again ? NULL : record_there_locked(rq, seen);
	struct reg_plugin *p;
	int err;

	if (r)
		search->first = r->plugin;
	while (!r && (p = plugin_next(rq, search->last))) {
		search->last = p;
		if (p == search->first)
			continue;
		*tried = true;
		err = plugin_try_locked(p, rq, search->again, seen, record);
		if ((err != -ENOENT && err != -EDEADLK) || reg.conf.strict)
			return err;
	}
	if (!r && !search->again)
		r = record_find_locked(rq, NULL, seen, NULL);
	if (!r)
		return -ENOENT;
	record_take_locked(r);
	*record = r;
	return 0;
}

/*
 * Returns true if several lines match. Lines are constant once the registry is ready, so no lock is
 * needed.
 */
bool search_is_choice(const struct reg_open_request *rq)
{
	const struct reg_plugin *p = plugin_next(rq, NULL);

	return p && !reg.conf.strict && plugin_next(rq, p);
}

/* Returns true if there is another line to try after this record could not be opened. */
bool search_goes_on(const struct reg_open_request *rq, const struct reg_search *search,
		    const struct reg_record *record)
{
	const struct reg_plugin *p;

	if (reg.conf.strict || !record->plugin)
		return false;
	p = plugin_next(rq, search->last);
	if (p && p == search->first)
		p = plugin_next(rq, p);
	return p;
}

DAT_RETURN record_acquire(const struct reg_open_request *rq, struct reg_search *search,
			  struct reg_record **record)
{
	enum match seen = MATCH_NONE;
	bool tried = false;
	struct offer o;
	enum match m;
	unsigned int i;
	int err;

	pthread_mutex_lock(&reg.lock);
	err = record_acquire_locked(rq, search, &seen, &tried, record);
	for (i = 0; err && !tried && i < reg.nplugins; i++) {
		if (plugin_is_hidden(&reg.plugins[i]))
			continue;
		o = plugin_offer(&reg.plugins[i]);
		m = offer_match(&o, rq);
		if (m > seen)
			seen = m;
	}
	pthread_mutex_unlock(&reg.lock);
	if (err == -ENOMEM)
		return REG_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	return err ? match_status(rq->front, seen) : DAT_SUCCESS;
}

void record_release(struct reg_record *r)
{
	pthread_mutex_lock(&reg.lock);
	r->opens--;
	if (r->plugin)
		plugin_release_locked(r->plugin);
	pthread_mutex_unlock(&reg.lock);
}

/* Frees the catalogue. No IA is open, and no plugin is loaded. */
void catalog_free_locked(void)
{
	struct reg_record *r;
	unsigned int i;

	while ((r = reg.records)) {
		reg.records = r->next;
		free(r);
	}
	reg.records_tail = &reg.records;
	for (i = 0; i < reg.nplugins; i++) {
		free(reg.plugins[i].why);
		free(reg.plugins[i].said);
	}
	plugins_free_locked();
	conf_free(&reg.conf);
	reg.ready = false;
}

/*
 * In a forked child: other threads of the parent were reading the lines, or loading a library, and that does not go on here. An
 * open of theirs counts on, so its provider is not finished in the child.
 */
void catalog_forked_locked(void)
{
	unsigned int i;

	if (!reg.ready) {
		/* one may have been reading the lines, and nothing of this memory is used again */
		conf_init(&reg.conf);
		reg.plugins = NULL;
		reg.nplugins = 0;
	}
	for (i = 0; i < reg.nplugins; i++)
		plugin_forked_locked(&reg.plugins[i]);
}

/* Returns true if the name is present, ends within its array, and is not empty. */
static bool info_is_valid(const DAT_PROVIDER_INFO *info)
{
	return info && info->ia_name[0] && memchr(info->ia_name, '\0', sizeof(info->ia_name));
}

static bool info_equal(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	return !info_order(a, b);
}

static struct reg_record *record_of_locked(const DAT_PROVIDER_INFO *info)
{
	struct reg_record *r;

	for (r = reg.records; r; r = r->next)
		if (info_equal(&r->info, info))
			return r;
	return NULL;
}

static DAT_RETURN record_add_locked(struct reg_record *r)
{
	if (record_of_locked(&r->info))
		return REG_ERROR(DAT_PROVIDER_ALREADY_REGISTERED, 0);
	if (reg.nrecords == REG_RECORDS_MAX || r->front->table_add_locked(r->table))
		return REG_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	*reg.records_tail = r;
	reg.records_tail = &r->next;
	reg.nrecords++;
	return DAT_SUCCESS;
}

/* Completes r, which is new, and adds it. `caller` is the front that it came through. */
static DAT_RETURN record_enter(struct reg_record *r, const struct reg_front *caller)
{
	DAT_RETURN rc;

	pthread_mutex_lock(&reg.lock);
	r->front = front_of_locked(r->info.dapl_version_major);
	if (reg.gone) {
		rc = REG_ERROR(DAT_INVALID_STATE, 0);
	} else if (!r->front) {
		rc = reg_argument(caller, 2);
	} else {
		r->opener = r->front->opener_of(r->table);
		rc = record_add_locked(r);
	}
	pthread_mutex_unlock(&reg.lock);
	return rc;
}

DAT_RETURN datreg_provider_add(const struct reg_front *front, const void *table,
			       const DAT_PROVIDER_INFO *info)
{
	struct reg_record *r;
	DAT_RETURN rc;

	if (!table)
		return reg_argument(front, 1);
	if (!info_is_valid(info))
		return reg_argument(front, 2);
	r = calloc(1, sizeof(*r));
	if (!r)
		return REG_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	r->table = table;
	r->info = *info;
	r->plugin = reg_self.plugin;
	rc = record_enter(r, front);
	diag_print(DIAG_DR, "provider for %s u%u.%u %s: %s", info->ia_name,
		   info->dapl_version_major, info->dapl_version_minor,
		   info->is_thread_safe ? "threadsafe" : "nonthreadsafe",
		   !rc ? "registered" :
		   r->front ? "refused" :
			      "refused, because the program has no library for this version of DAT");
	if (rc)
		free(r);
	return rc;
}

/*
 * Returns true if the objects of an IA that was opened through r begin with this table. It may
 * differ from the registered one, because each IA of a wrapper has a table of its own.
 */
static bool table_is_open_locked(const struct reg_record *r, const void *table)
{
	unsigned int h = atomic_load_explicit(&reg.ia_top, memory_order_relaxed);
	const struct reg_ia *ia;

	while (h-- > 1) {
		ia = ia_slot(h);
		if (ia && ia->record == r && ia->vtable == table)
			return true;
	}
	return false;
}

static DAT_RETURN record_remove_locked(const struct reg_front *caller, const void *table,
				       const DAT_PROVIDER_INFO *info)
{
	struct reg_record **link = &reg.records;
	struct reg_record *r;

	if (reg.gone)
		return REG_ERROR(DAT_INVALID_STATE, 0);
	while ((r = *link) && !info_equal(&r->info, info))
		link = &r->next;
	if (!r)
		return reg_argument(caller, 2);
	if (r->table != table && !table_is_open_locked(r, table))
		return reg_argument(caller, 1);
	if (r->opens)
		return REG_ERROR(DAT_PROVIDER_IN_USE, 0);
	*link = r->next;
	if (reg.records_tail == &r->next)
		reg.records_tail = link;
	r->front->table_remove_locked(r->table);
	reg.nrecords--;
	free(r);
	return DAT_SUCCESS;
}

DAT_RETURN datreg_provider_remove(const struct reg_front *front, const void *table,
				  const DAT_PROVIDER_INFO *info)
{
	DAT_RETURN rc;

	if (!table)
		return reg_argument(front, 1);
	if (!info_is_valid(info))
		return reg_argument(front, 2);
	pthread_mutex_lock(&reg.lock);
	rc = record_remove_locked(front, table, info);
	pthread_mutex_unlock(&reg.lock);
	diag_print(DIAG_DR, "provider for %s: %s", info->ia_name, rc ? "not removed" : "removed");
	return rc;
}

/*
 * Returns true if the front can open plugin i, and it is the first with its name, version and
 * thread safety.
 */
static bool plugin_is_listed(const struct reg_front *front, unsigned int i)
{
	const struct reg_plugin *p = &reg.plugins[i];

	return p->info.dapl_version_major == front->major && p->entry->hidden == CONF_SHOWN && !p->repeats;
}

/*
 * Fills in at most max entries, or none if list is NULL. Returns the number of entries that exist.
 */
static unsigned int providers_list(const struct reg_front *front, unsigned int max,
				   DAT_PROVIDER_INFO **list)
{
	unsigned int i, n = 0;

	pthread_mutex_lock(&reg.lock);
	for (i = 0; i < reg.nplugins; i++) {
		if (!plugin_is_listed(front, i))
			continue;
		if (list && n < max) {
			*list[n] = reg.plugins[i].info;
			reg.plugins[i].listed = true;
			reg.probed = true;
		}
		n++;
	}
	pthread_mutex_unlock(&reg.lock);
	return n;
}

/*
 * Programs call this with a length of 0 to get the number of entries, or with a small length to get
 * the first few. The rest of the list is not written.
 */
DAT_RETURN datreg_provider_list(const struct reg_front *front, DAT_COUNT max, DAT_COUNT *returned,
				DAT_PROVIDER_INFO *list[])
{
	unsigned int count, n, i;
	DAT_RETURN rc;

	if (!returned)
		return reg_argument(front, 2);
	rc = catalog_ready(front);
	if (rc)
		return rc;
	count = providers_list(front, 0, NULL);
	if (max <= 0 || !list) {
		*returned = (DAT_COUNT)count;
		return reg_argument(front, max <= 0 ? 1 : 3);
	}
	n = count < (unsigned int)max ? count : (unsigned int)max;
	for (i = 0; i < n; i++) {
		if (!list[i]) {
			*returned = 0;
			return reg_argument(front, 3);
		}
	}
	providers_list(front, n, list);
	*returned = (DAT_COUNT)n;
	return DAT_SUCCESS;
}

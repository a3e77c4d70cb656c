/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which lines for uDAPL 1.2 serve programs of uDAPL 2.0 as well.
 *
 * Invariant: a line that says u2.0 alone decides what its name means for programs of 2.0, and a library
 * that is not OpenDAT's is used for the version that its line says, and for no other.
 */
#include "conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The providers that have a table of 2.0. libdaplcma.so.1 is missing, because its lines may mean OFED's library of this name. */
static const char *const libraries[] = { "libdatsoft.so", "libdatib.so", "libdatiwarp.so" };
/* The wrappers, which serve the programs that the adapter beneath serves. */
static const char *const wrappers[] = { "libdat-trace.so", "libdat-fault.so" };

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/*
 * The largest number of wrappers, and of lines of the same name, that are looked at for one line. Wrappers that lead back to
 * themselves reach it; then the line counts as one that serves 2.0, because only its opening tells the program the reason.
 */
enum { LOOKS_MAX = 100 };

static bool is_one_of(const char *library, const char *const *list, size_t n)
{
	const char *slash = strrchr(library, '/');
	const char *file = slash ? slash + 1 : library;
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(file, list[i]))
			return true;
	return false;
}

/* ------------------------------------------------------------------ the lines of a name */

/* A line among those that are sorted. */
struct conf_named {
	const struct conf_entry *entry;
	size_t nth;			/* in the order of the files */
};

static int named_order(const void *a, const void *b)
{
	const struct conf_named *x = a, *y = b;
	int order = strcmp(x->entry->name, y->entry->name);

	if (!order)
		order = (y->entry->major == 2) - (x->entry->major == 2);
	return order ? order : (x->nth > y->nth) - (x->nth < y->nth);
}

int conf_sort(struct conf *conf)
{
	const struct conf_entry *e;
	struct conf_named *named;
	size_t n = 0;

	for (e = conf->entries; e; e = e->next)
		n += e->skip == CONF_USED;
	named = malloc((n ? n : 1) * sizeof(*named));
	if (!named)
		return -ENOMEM;
	n = 0;
	for (e = conf->entries; e; e = e->next)
		if (e->skip == CONF_USED) {
			named[n] = (struct conf_named){ e, n };
			n++;
		}
	qsort(named, n, sizeof(*named), named_order);
	free(conf->named);
	conf->named = named;
	conf->nnamed = n;
	return 0;
}

/* Compares the name of a line with one that need not be NUL-terminated, as strcmp() does. */
static int name_order(const struct conf_entry *e, const char *name, size_t length)
{
	int order = strncmp(e->name, name, length);

	return order ? order : e->name[length] != '\0';
}

/* Returns the position of the first line that has this name, if any has it, among those that are sorted. */
static size_t first_named(const struct conf *conf, const char *name, size_t length)
{
	size_t from = 0, to = conf->nnamed;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (name_order(conf->named[middle].entry, name, length) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Returns the line at this position if it has the name, or NULL. */
static const struct conf_entry *named_at(const struct conf *conf, size_t i, const char *name, size_t length)
{
	return i < conf->nnamed && !name_order(conf->named[i].entry, name, length) ? conf->named[i].entry : NULL;
}

/* Returns whether a line that is used says u2.0 and has this name. Such lines are the first of their name. */
static bool is_said(const struct conf *conf, const char *name, size_t length)
{
	const struct conf_entry *e = named_at(conf, first_named(conf, name, length), name, length);

	return e && e->major == 2;
}

/* ------------------------------------------------------------------ which lines serve 2.0 */

/* One question: what it takes to answer, and how many looks it has taken. */
struct question {
	const struct conf *conf;
	conf_wrapper_fn *wrapper_has_20;
	int looks;
};

static bool serves_20(struct question *ask, const struct conf_entry *e);

/*
 * Returns whether the adapter that a wrapper's instance data begin with serves programs of 2.0. Returns true as well if there is no
 * such adapter: then the wrapper tells the program the reason.
 */
static bool beneath_serves_20(struct question *ask, const struct conf_entry *wrapper)
{
	const char *name = wrapper->ia_params + strspn(wrapper->ia_params, " \t");
	size_t length = strcspn(name, " \t");
	const struct conf_entry *e;
	bool found = false;
	size_t i;

	if (is_said(ask->conf, name, length))
		return true;
	for (i = first_named(ask->conf, name, length); (e = named_at(ask->conf, i, name, length)); i++) {
		if (++ask->looks > LOOKS_MAX || serves_20(ask, e))
			return true;
		found = true;
	}
	return !found;
}

static bool serves_20(struct question *ask, const struct conf_entry *e)
{
	if (e->skip != CONF_USED || e->major != 1 || is_said(ask->conf, e->name, strlen(e->name)))
		return false;
	if (is_one_of(e->library, wrappers, COUNT(wrappers)))
		return beneath_serves_20(ask, e) && (!ask->wrapper_has_20 || ask->wrapper_has_20(e));
	return is_one_of(e->library, libraries, COUNT(libraries));
}

bool conf_serves_20(const struct conf *conf, const struct conf_entry *e)
{
	return conf_serves_20_with(conf, e, NULL);
}

bool conf_serves_20_with(const struct conf *conf, const struct conf_entry *e, conf_wrapper_fn *wrapper_has_20)
{
	struct question ask = { conf, wrapper_has_20, 0 };

	return serves_20(&ask, e);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The static registry as text: dat.conf and its drop-ins turned into entries and diagnostics.
 *
 * Invariant: nothing here loads a library, prints, or keeps anything outside the struct conf it is
 * given; whatever a file holds, the result is a set of entries that are complete and well formed,
 * and one diagnostic for each thing that was refused.
 */
#ifndef REGISTRY_CONF_H
#define REGISTRY_CONF_H

#include <stdbool.h>
#include <stddef.h>

/* A name and its NUL fit in DAT_NAME_MAX_LENGTH (256) bytes. */
#define CONF_NAME_MAX 255

/* How many diagnostics one struct conf keeps; further ones are only counted. */
#define CONF_DIAGS_MAX 256

/* The eight fields of a dat.conf record, in their order. */
enum conf_field {
	CONF_IA_NAME = 1,
	CONF_API_VERSION,
	CONF_THREAD_SAFETY,
	CONF_DEFAULT,
	CONF_LIBRARY,
	CONF_PROVIDER_VERSION,
	CONF_IA_PARAMS,
	CONF_PLATFORM_PARAMS,
	CONF_FIELDS = CONF_PLATFORM_PARAMS,
};

/* The reasons why a well-formed entry is not used. */
enum conf_skip {
	CONF_USED,
	CONF_SKIP_KDAPL,	/* api version k...: for the kernel's API */
	CONF_SKIP_NONDEFAULT,	/* field 4 is nondefault */
};

/* Whether DAT_PROVIDERS hides a line from programs. */
enum conf_hidden {
	CONF_SHOWN,
	CONF_NOT_INCLUDED,	/* no word names it: a wrapper may still open it */
	CONF_EXCLUDED,		/* a word with ^ names it: its library is not loaded */
};

/* One adapter of the static registry. All strings belong to the struct conf. */
struct conf_entry {
	struct conf_entry *next;	/* file order, drop-ins last */
	char *name;
	unsigned int major;		/* API version */
	unsigned int minor;
	bool thread_safe;
	enum conf_skip skip;
	enum conf_hidden hidden;
	char *library;			/* as written in the file, and passed to the loader */
	char *provider_version;		/* ID.MAJOR.MINOR */
	char *ia_params;		/* dat_provider_init's instance data, with drop-in tuning */
	char *platform_params;
	const char *file;		/* where it was read, for messages */
	unsigned int line;
	const char *tuned_file;		/* the last drop-in that changed it, or NULL */
	unsigned int tuned_line;
};

/* Something that was refused. line 0: the file as a whole. field 0: no field in particular. */
struct conf_diag {
	struct conf_diag *next;
	const char *file;
	unsigned int line;
	unsigned int column;		/* in bytes, from 1; 0: the line as a whole */
	enum conf_field field;
	char *name;			/* adapter of the refused record where known, else NULL */
	char *text;			/* cause and remedy, without the position */
};

/* A path that entries and diagnostics point at. */
struct conf_source {
	struct conf_source *next;	/* in the order of reading */
	bool main;			/* a dat.conf that was read, and no drop-in */
	char path[];
};

/* The result of reading. A struct of zeroes is a valid empty one. One thread at a time owns it. */
struct conf {
	struct conf_entry *entries;
	struct conf_entry **entries_tail;
	struct conf_diag *diags;
	struct conf_diag **diags_tail;
	unsigned int ndiags;		/* including those beyond CONF_DIAGS_MAX */
	struct conf_source *sources;
	const char *origin;		/* the main file read, or DAT_CONF_PATH, or "built-in" */
	bool builtin;
	char *path_list;		/* DAT_CONF_PATH where it counts, or NULL */
	char *providers;		/* DAT_PROVIDERS as it was applied, or NULL */
	char *providers_wrong;		/* what is wrong with it, or NULL */
	bool strict;			/* a line that fails is not followed by the next one */
	/* the lines that are used, by their names: see conf_sort() */
	struct conf_named *named;
	size_t nnamed;
};

void conf_init(struct conf *conf);
void conf_free(struct conf *conf);

/*
 * Parse the text of one dat.conf. Entries and diagnostics are appended. file names the text in
 * messages. Returns 0, or -ENOMEM: what was parsed until then stays valid.
 */
int conf_parse(struct conf *conf, const char *file, const char *text, size_t len);

/* The same for one drop-in, which may add adapters and tune those already in conf. */
int conf_parse_ini(struct conf *conf, const char *file, const char *text, size_t len);

/*
 * Read path, then the drop-ins of the directory that is called like path with ".d" appended.
 * Returns 0 when path was read, -ENOMEM, or another -errno (then also noted as a diagnostic).
 */
int conf_read(struct conf *conf, const char *path);

/*
 * Find and read the registry of this process: only DAT_OVERRIDE if it is set, else all files of
 * DAT_CONF_PATH, else SYSCONFDIR/dat.conf, else /etc/dat.conf, else the built-in one, with
 * drop-ins; then apply DAT_PROVIDERS. Setuid programs ignore the three variables. Returns 0 or
 * -ENOMEM; a file that could not be read is a diagnostic.
 */
int conf_read_system(struct conf *conf);

/*
 * Sorts the lines that are used by their names. conf_read() and conf_read_system() do so when they have read everything;
 * afterwards the lines must not change. Returns 0 or -ENOMEM.
 */
int conf_sort(struct conf *conf);

/*
 * Hide the lines that DAT_PROVIDERS, or the value given, hides; conf_filter.c describes the value.
 * Return 0 or -ENOMEM. Call one of them, once for each struct conf.
 */
int conf_filter_env(struct conf *conf);
int conf_filter(struct conf *conf, const char *value);

/*
 * Returns true if a line for uDAPL 1.2 serves programs of 2.0 as well: its library is one of OpenDAT's
 * with a table of 2.0, or a wrapper of OpenDAT's whose adapter beneath is not for 1.2 alone; and no line
 * that is used says u2.0 and has its name. Only lines that conf_sort() has sorted count for this.
 */
bool conf_serves_20(const struct conf *conf, const struct conf_entry *e);

/*
 * The same, but a wrapper counts only if the function returns true for it. A library with the name of one of OpenDAT's wrappers may
 * be an older one, which does not serve 2.0. The registry itself has no such function, because an older wrapper refuses a program
 * of 2.0 with the reason.
 */
typedef bool conf_wrapper_fn(const struct conf_entry *wrapper);
bool conf_serves_20_with(const struct conf *conf, const struct conf_entry *e, conf_wrapper_fn *wrapper_has_20);

/*
 * Finds the next variable of the environment that begins with DAT_, that no library reads, and whose
 * name resembles one that is read, such as DAT_OVERIDE. Begin with *at = 0. Returns the name that was
 * meant and copies the mistyped one to name[size], or returns NULL if there are no more. The
 * environment must not change meanwhile, as with getenv(3).
 */
const char *conf_variable_mistyped(unsigned int *at, char *name, size_t size);

/* Returns the name of a field as in dat.conf(5). */
const char *conf_field_name(enum conf_field field);

/* Internal to conf*.c. */
const char *conf_source_add(struct conf *conf, const char *path);
const char *conf_source_main(struct conf *conf, const char *path);
void conf_entry_append(struct conf *conf, struct conf_entry *e);
void conf_entry_free(struct conf_entry *e);
const char *conf_api_parse(struct conf_entry *e, const char *s);
const char *conf_provider_version_check(const char *s);
struct conf_where {
	const char *file;
	unsigned int line;
	unsigned int column;
	enum conf_field field;
	const char *name;
};
int conf_diag_add(struct conf *conf, const struct conf_where *where, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
const char *conf_clip(char buf[static 48], const char *s, size_t len);

#endif

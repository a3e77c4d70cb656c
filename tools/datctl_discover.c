/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datctl discover: lines of dat.conf for the adapters of this host, for programs of uDAPL 1.2 or 2.0.
 *
 * Invariant: names depend only on the network interface (or on the device, if the interface has
 * another one already), so they stay the same from one boot to the next. An existing line is
 * changed only if it is for the same API and names one of OpenDAT's providers, and its device has
 * appeared or gone.
 */
#include "config.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "confedit.h"
#include "datctl.h"
#include "devices.h"
#include "json.h"

const char datctl_discover_help[] =
	"Usage: datctl discover [OPTION...]\n"
	"Print lines of dat.conf for the adapters that this host has: soft0, and one for each\n"
	"InfiniBand, RoCE or iWARP port. If a device is not there, no line is printed for it.\n"
	"\n"
	"  --api VERSION   the lines are for programs of uDAPL 1.2 (the default) or 2.0; those for\n"
	"                  2.0 have the names that OFED gave, such as ofa-v2-ib0\n"
	"  --update FILE   write the lines into FILE instead: missing lines are added, lines\n"
	"                  whose device is gone are commented out (#gone#) until it is back;\n"
	"                  everything else stays unchanged. The changes are printed, and FILE is\n"
	"                  replaced by a new file in one step\n"
	"  --dry-run       with --update: only print what would change\n"
	"  --root DIR      look for devices in DIR/sys and DIR/dev\n"
	"  --json          print the adapters as JSON\n";

#define GONE "#gone# "

/* An adapter that this host has. */
struct found {
	char *name;
	const char *library;
	char *params;
	char *about;		      /* a comment */
	const struct rdma_port *port; /* NULL for soft0 */
	bool listed;		      /* the file has a line for it */
};

struct finds {
	struct found *found;
	size_t count;
	unsigned int major; /* of the API whose programs the lines are for */
};

/*
 * The beginnings of names, by the kind of the port. Job scripts use the names of 2.0 that OFED's
 * dat.conf has: ofa-v2-ib0 and ofa-v2-cma-roe-eth2 by the interface, ofa-v2-mlx5_0-1 by the device.
 */
static const struct naming {
	const char *netdev[3], *device[3];
} naming12 = { { "", "roce-", "iwarp-" }, { "", "roce-", "iwarp-" } },
  naming20 = { { "ofa-v2-", "ofa-v2-cma-roe-", "ofa-v2-iwarp-" }, { "ofa-v2-", "ofa-v2-", "ofa-v2-" } };

static void find_add(struct finds *finds, struct found what)
{
	struct found *more = realloc(finds->found, (finds->count + 1) * sizeof(*more));

	if (more == NULL) {
		cli_error("out of memory");
		exit(CLI_FAILED);
	}
	finds->found = more;
	finds->found[finds->count++] = what;
}

static bool netdev_is_taken(const struct finds *finds, const char *netdev)
{
	for (size_t i = 0; i < finds->count; i++)
		if (finds->found[i].port != NULL &&
		    strcmp(finds->found[i].port->netdev, netdev) == 0)
			return true;
	return false;
}

/* Takes ownership of the name and the parameters, which are malloced. */
static void port_find_add(struct finds *finds, const struct rdma_port *p, char *name, char *params)
{
	find_add(finds, (struct found){
		.name = name,
		.library = p->kind == PORT_IWARP ? "libdatiwarp.so" : "libdatib.so",
		.params = params,
		.about = cli_text("%s: port %u of %s%s%s", port_kind_name(p->kind), p->port, p->device,
				  p->netdev[0] != '\0' ? ", network interface " : "", p->netdev),
		.port = p });
}

/*
 * Adds the adapters of a port. In 2.0 each port has a name by its device as well, because scripts
 * use both kinds; a further interface of a port has only its own.
 */
static void port_add(struct finds *finds, const struct rdma_port *p)
{
	const struct naming *naming = finds->major == 2 ? &naming20 : &naming12;
	bool by_netdev = p->netdev[0] != '\0' && !netdev_is_taken(finds, p->netdev);

	if (by_netdev)
		port_find_add(finds, p, cli_raw("%s%s", naming->netdev[p->kind], p->netdev),
			      cli_raw("%s 0", p->netdev));
	if (!p->further && (!by_netdev || finds->major == 2))
		port_find_add(finds, p,
			      cli_raw("%s%s-%u", naming->device[p->kind], p->device, p->port),
			      cli_raw("%s %u", p->device, p->port));
}

static void finds_make(struct finds *finds, const struct devices *devices)
{
	find_add(finds, (struct found){ .name = cli_text("soft0"),
					.library = "libdatsoft.so",
					.params = cli_text("%s", ""),
					.about = cli_text("Between the processes of this host.") });
	for (size_t i = 0; i < devices->count; i++)
		port_add(finds, &devices->port[i]);
}

static void finds_free(struct finds *finds)
{
	for (size_t i = 0; i < finds->count; i++) {
		free(finds->found[i].name);
		free(finds->found[i].params);
		free(finds->found[i].about);
	}
	free(finds->found);
}

static char *line_of(const struct finds *finds, const struct found *f, const char *name)
{
	return cli_raw("%s %s nonthreadsafe default %s opendat.1.0 \"%s\" \"\"", name,
			finds->major == 2 ? "u2.0" : "u1.2", f->library, f->params);
}

/* ----------------------------------------------------------------------------------- merging */

struct merge {
	struct confedit edit;
	struct conf all; /* the existing file, with its drop-ins */
	struct finds *finds;
	const struct devices *devices;
};

static bool is_library(const struct conf_entry *e, const char *name)
{
	const char *slash = strrchr(e->library, '/');

	return strcmp(slash != NULL ? slash + 1 : e->library, name) == 0;
}

/* Returns whether the device is given by an address. Then the administrator maintains the line. */
static bool is_by_address(const char *where)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, where, bytes) == 1 || inet_pton(AF_INET6, where, bytes) == 1;
}

/*
 * Returns the adapter of this port, or NULL. If there are several, `where` selects one by its name.
 */
static struct found *find_of_port(const struct finds *finds, const struct rdma_port *port,
				  const char *where)
{
	struct found *found = NULL;
	size_t length = strlen(where);

	for (size_t i = 1; i < finds->count; i++) {
		struct found *f = &finds->found[i];

		if (f->port != port)
			continue;
		if (strncmp(f->params, where, length) == 0 && f->params[length] == ' ')
			return f;
		found = f;
	}
	return found;
}

/* Returns whether the library serves RDMA ports as OpenDAT's do; OFED's names of it count. */
static bool is_rdma_library(const struct conf_entry *e)
{
	return is_library(e, "libdatib.so") || is_library(e, "libdatiwarp.so") ||
	       is_library(e, e->major == 2 ? "libdaplofa.so.2" : "libdaplcma.so.1");
}

enum fate { FOREIGN, HERE, AWAY };

/*
 * Returns what has to be done with an entry; *found is the adapter that it names, if that exists.
 */
static enum fate fate_of(const struct merge *m, const struct conf_entry *e, struct found **found)
{
	const struct rdma_port *port;
	char where[64] = "";
	unsigned int number = 0;

	*found = NULL;
	if (e->major != m->finds->major || e->skip != CONF_USED)
		return FOREIGN;
	if (is_library(e, "libdatsoft.so")) {
		*found = &m->finds->found[0];
		return HERE;
	}
	if (!is_rdma_library(e))
		return FOREIGN;
	sscanf(e->ia_params, "%63s %u", where, &number);
	if (where[0] == '\0' || is_by_address(where))
		return FOREIGN;
	port = devices_find(m->devices, where, number);
	if (port == NULL)
		return AWAY;
	*found = find_of_port(m->finds, port, where);
	return HERE;
}

static void line_merge(struct merge *m, size_t i)
{
	const char *line = m->edit.file.line[i];
	bool gone = strncmp(line, GONE, strlen(GONE)) == 0;
	struct found *found;
	struct conf conf;
	enum fate fate;

	if (confedit_parse(&conf, gone ? line + strlen(GONE) : line)) {
		fate = fate_of(m, conf.entries, &found);
		if (gone && fate == HERE && found != NULL && !found->listed)
			confedit_change(&m->edit, i, cli_strdup(line + strlen(GONE)));
		else if (!gone && fate == AWAY)
			confedit_change(&m->edit, i, cli_raw(GONE "%s", line));
		if (found != NULL)
			found->listed = true;
	}
	conf_free(&conf);
}

/*
 * Merges the lines. Those that stay come first, because a line that is restored must not repeat
 * them.
 */
static void lines_merge(struct merge *m)
{
	for (int gone = 0; gone < 2; gone++)
		for (size_t i = 0; i < m->edit.file.count; i++)
			if ((strncmp(m->edit.file.line[i], GONE, strlen(GONE)) == 0) == gone)
				line_merge(m, i);
}

/*
 * Returns whether a line for this API has the name. Lines for the two APIs may have the same name.
 */
static bool name_is_used(const struct merge *m, const char *name)
{
	for (const struct conf_entry *e = m->all.entries; e != NULL; e = e->next)
		if (e->major == m->finds->major && strcmp(e->name, name) == 0)
			return true;
	return false;
}

static void missing_add(struct merge *m)
{
	if (m->edit.is_new)
		confedit_add(&m->edit,
			     cli_text("# dat.conf: the adapters that uDAPL programs may open, "
				      "one a line; see dat.conf(5)."));
	for (size_t i = 0; i < m->finds->count; i++) {
		struct found *f = &m->finds->found[i];
		char *name = cli_strdup(f->name);

		for (unsigned int n = 2; name_is_used(m, name); n++) {
			free(name);
			name = cli_raw("%s-%u", f->name, n);
		}
		if (!f->listed) {
			confedit_add(&m->edit, cli_text("# %s", f->about));
			confedit_add(&m->edit, line_of(m->finds, f, name));
		}
		free(name);
	}
}

/* Marks the adapters that drop-ins add as listed. */
static void drop_ins_count(struct merge *m)
{
	struct found *found;

	for (const struct conf_entry *e = m->all.entries; e != NULL; e = e->next)
		if (strcmp(e->file, m->edit.path) != 0 && fate_of(m, e, &found) == HERE &&
		    found != NULL)
			found->listed = true;
}

static int update(struct finds *finds, const struct devices *devices, const char *path, bool dry)
{
	struct merge m = { .finds = finds, .devices = devices };
	int err = confedit_open(&m.edit, path);
	int status = CLI_OK;

	conf_init(&m.all);
	if (err != 0) {
		cli_error("%s: cannot be read: %s", path, conffile_strerror(err));
		status = CLI_FAILED;
	} else {
		conf_read(&m.all, path); /* adapters that the file does not have are added */
		drop_ins_count(&m);
		lines_merge(&m);
		missing_add(&m);
		if (confedit_is_empty(&m.edit))
			printf("%s needs no change\n", path);
		else
			confedit_print(&m.edit);
		if (!confedit_is_empty(&m.edit) && !dry && !confedit_write(&m.edit))
			status = CLI_FAILED;
	}
	conf_free(&m.all);
	confedit_close(&m.edit);
	return status;
}

/* ---------------------------------------------------------------------------------- printing */

/* Prints a dat.conf, as it is meant to be written into a file; to a terminal it is shown as all text of others. */
static void text_print(const struct finds *finds)
{
	bool shown = isatty(STDOUT_FILENO);

	for (size_t i = 0; i < finds->count; i++) {
		char *line = line_of(finds, &finds->found[i], finds->found[i].name);
		char *text = shown ? cli_escape(line) : cli_strdup(line);

		printf("# %s\n%s\n", finds->found[i].about, text);
		free(text);
		free(line);
	}
}

static void json_print(const struct finds *finds)
{
	json_array(NULL);
	for (size_t i = 0; i < finds->count; i++) {
		const struct found *f = &finds->found[i];
		char *line = line_of(finds, f, f->name);

		json_object(NULL);
		json_string("name", f->name);
		json_string("library", f->library);
		json_string("ia_params", f->params);
		json_string("device", f->port != NULL ? f->port->device : NULL);
		json_string("netdev", f->port != NULL ? f->port->netdev : NULL);
		json_string("kind", f->port != NULL ? port_kind_name(f->port->kind) : "soft");
		json_string("state", f->port != NULL ? f->port->state : NULL);
		json_string("line", line);
		json_end();
		free(line);
	}
	json_end();
}

int datctl_update(const char *path, const char *root, unsigned int major, bool dry)
{
	struct finds finds = { .major = major };
	struct devices devices;
	int status;

	if (devices_scan(&devices, root) != 0) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	finds_make(&finds, &devices);
	status = update(&finds, &devices, path, dry);
	finds_free(&finds);
	devices_free(&devices);
	return status;
}

static int print(const char *root, unsigned int major, bool json)
{
	struct finds finds = { .major = major };
	struct devices devices;

	if (devices_scan(&devices, root) != 0) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	finds_make(&finds, &devices);
	if (json)
		json_print(&finds);
	else
		text_print(&finds);
	finds_free(&finds);
	devices_free(&devices);
	return CLI_OK;
}

int datctl_discover(int argc, char **argv)
{
	const char *path = NULL, *root = "", *api = "1.2";
	bool dry = false, json = false;
	unsigned int major;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--dry-run") == 0)
			dry = true;
		else if (strcmp(argv[i], "--json") == 0)
			json = true;
		else if (strcmp(argv[i], "--update") == 0 && i + 1 < argc)
			path = argv[++i];
		else if (strcmp(argv[i], "--root") == 0 && i + 1 < argc)
			root = argv[++i];
		else if (strcmp(argv[i], "--api") == 0 && i + 1 < argc)
			api = argv[++i];
		else if (strcmp(argv[i], "--update") == 0 || strcmp(argv[i], "--root") == 0 ||
			 strcmp(argv[i], "--api") == 0)
			return cli_usage("discover: %s: its value is missing", argv[i]);
		else
			return argv[i][0] == '-' ? datctl_unknown_option("discover", argv[i])
						 : cli_usage("discover: '%s' is one argument too many; "
							     "a file is named with --update",
							     argv[i]);
	}
	if (!datctl_api(api, &major))
		return cli_usage("discover: --api: " DATCTL_NO_API, api);
	if (dry && path == NULL)
		return cli_usage("discover: --dry-run: which file? give --update FILE as well");
	if (json && path != NULL)
		return cli_usage("discover: --json and --update cannot be combined");
	return path != NULL ? datctl_update(path, root, major, dry) : print(root, major, json);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datctl report: what is needed to investigate a problem, in one text.
 *
 * Invariant: only what the help text lists is printed: only OpenDAT's variables of the environment,
 * not the name of the host, and no files but those of the registry.
 */
#include "config.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli.h"
#include "conffile.h"
#include "datctl.h"
#include "device_attr.h"
#include "devices.h"
#include "json.h"

const char datctl_report_help[] =
	"Usage: datctl report [--root DIR] [--json]\n"
	"Print what is needed to investigate a problem, as text to be sent: the versions of\n"
	"OpenDAT, kernel and distribution, limits of this process, the variables of 'datctl env'\n"
	"that are set, the files of the registry with their text, RDMA devices with their drivers,\n"
	"firmware, interfaces, attributes and GIDs, kernel modules and libraries for RDMA, and the results of\n"
	"'datctl check'. It does not contain the name of the host and other variables, but\n"
	"addresses and names of adapters: read it before you send it.\n"
	"\n"
	"  --root DIR   look for devices in DIR/sys and DIR/dev\n"
	"  --json       print JSON, without the text of the files and the results of 'datctl check',\n"
	"               which has a --json of its own\n";

static void heading(const char *text)
{
	printf("\n== %s\n", text);
}

/* Returns a value of os-release(5) without its quotes, malloced. */
static char *unquoted(const char *value)
{
	size_t length = strlen(value);
	bool quoted = length > 1 && (*value == '"' || *value == '\'') && value[length - 1] == *value;

	return cli_text("%.*s", (int)(length - 2 * quoted), value + quoted);
}

/* Returns PRETTY_NAME of os-release, malloced. */
static char *distribution(void)
{
	char *name = NULL;
	struct conffile file;

	if (conffile_read(&file, "/etc/os-release") == 0)
		for (size_t i = 0; i < file.count && name == NULL; i++)
			if (strncmp(file.line[i], "PRETTY_NAME=", 12) == 0)
				name = unquoted(file.line[i] + 12);
	conffile_free(&file);
	return name != NULL ? name : cli_text("unknown");
}

static const struct limit {
	const char *name;
	int resource;
	const char *meaning;
} limits[] = {
	{ "memlock", RLIMIT_MEMLOCK, "bytes of memory that may be registered" },
	{ "nofile", RLIMIT_NOFILE, "open files" },
	{ "nproc", RLIMIT_NPROC, "processes" },
	{ "as", RLIMIT_AS, "bytes of address space" },
};

#define LIMITS (sizeof(limits) / sizeof(limits[0]))

static char *limit_text(rlim_t value)
{
	return value == RLIM_INFINITY ? cli_text("unlimited")
				      : cli_text("%llu", (unsigned long long)value);
}

static void limits_print(bool json)
{
	for (size_t i = 0; i < LIMITS; i++) {
		struct rlimit limit = { 0, 0 };
		char *soft, *hard;

		getrlimit((__rlimit_resource_t)limits[i].resource, &limit);
		soft = limit_text(limit.rlim_cur);
		hard = limit_text(limit.rlim_max);
		if (json) {
			json_object(limits[i].name);
			json_string("soft", soft);
			json_string("hard", hard);
			json_end();
		} else {
			printf("%-8s %s (up to %s): %s\n", limits[i].name, soft, hard,
			       limits[i].meaning);
		}
		free(soft);
		free(hard);
	}
}

static void files_print(void)
{
	struct conf conf;

	conf_init(&conf);
	conf_read_system(&conf);
	for (const struct conf_source *s = conf.sources; s != NULL; s = s->next) {
		struct conffile file;

		printf("-- %s\n", s->path);
		if (strcmp(s->path, "built-in") == 0)
			continue;
		if (conffile_read(&file, s->path) != 0)
			printf("(cannot be read)\n");
		for (size_t i = 0; i < file.count; i++) {
			char *shown = cli_escape(file.line[i]);

			printf("%s\n", shown);
			free(shown);
		}
		conffile_free(&file);
	}
	conf_free(&conf);
}

static void registry_json(void)
{
	struct conf conf;

	conf_init(&conf);
	conf_read_system(&conf);
	json_string("registry", conf.origin);
	json_array("files");
	for (const struct conf_source *s = conf.sources; s != NULL; s = s->next)
		json_string(NULL, s->path);
	json_end();
	json_string("providers", conf.providers);
	conf_free(&conf);
}

static const char *known(const char *text)
{
	return text[0] != '\0' ? text : "unknown";
}

/* One line for a device, before those of its ports. */
static void about_print(const char *root, const char *device)
{
	struct rdma_about about;

	device_describe(root, device, &about);
	printf("%s: driver %s%s%s, firmware %s, model %s, board %s, hardware revision %s, PCI %s\n", device,
	       about.driver[0] != '\0' ? about.driver : "none, a software device", about.version[0] != '\0' ? " " : "",
	       about.version, known(about.firmware), known(about.model), known(about.board), known(about.revision),
	       about.pci[0] != '\0' ? about.pci : "none");
}

/* What sysfs does not tell is null. */
static void about_json(const char *root, const char *device)
{
	struct rdma_about about;
	const struct {
		const char *name, *value;
	} parts[] = {
		{ "driver", about.driver },	{ "driver_version", about.version },
		{ "firmware", about.firmware }, { "model", about.model },
		{ "board", about.board },	{ "hardware_revision", about.revision },
		{ "pci", about.pci },
	};

	device_describe(root, device, &about);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		json_string(parts[i].name, parts[i].value[0] != '\0' ? parts[i].value : NULL);
}

static void gids_print(const char *root, const struct rdma_port *port, bool json)
{
	struct rdma_gid gid;

	if (json)
		json_array("gids");
	for (unsigned int i = 0; port_gid(root, port, i, &gid); i++) {
		if (gid.gid[0] == '\0')
			continue;
		if (json) {
			json_object(NULL);
			json_number("index", i);
			json_string("gid", gid.gid);
			json_string("type", gid.type[0] != '\0' ? gid.type : NULL);
			json_string("netdev", gid.netdev[0] != '\0' ? gid.netdev : NULL);
			json_end();
		} else {
			printf("    GID %u: %s, %s, interface %s\n", i, gid.gid, known(gid.type),
			       gid.netdev[0] != '\0' ? gid.netdev : "none");
		}
	}
	if (json)
		json_end();
}

/* The attributes of devices are those of this host, whatever `root` is, so with another root there are none. */
static void attr_json(const char *root, const struct rdma_port *port)
{
	json_object("attributes");
	if (root[0] == '\0')
		device_attr_print(port->device, 0, true);
	json_end();
	json_object("port_attributes");
	if (root[0] == '\0')
		device_attr_print(port->device, port->port, true);
	json_end();
	gids_print(root, port, true);
}

static void port_json(const char *root, const struct rdma_port *p, const char *address)
{
	json_object(NULL);
	json_string("device", p->device);
	json_number("port", p->port);
	json_string("kind", port_kind_name(p->kind));
	json_string("state", p->state);
	json_string("netdev", p->netdev);
	json_string("address", address);
	json_string("node", p->node);
	json_string("node_error", p->node_errno ? strerror(p->node_errno) : NULL);
	about_json(root, p->device);
	if (!p->further)
		attr_json(root, p);
	json_end();
}

/* `first`: the port is the first of its device, which is described before it. */
static void port_print(const char *root, const struct rdma_port *p, const char *address, bool first)
{
	if (first) {
		about_print(root, p->device);
		if (root[0] == '\0')
			device_attr_print(p->device, 0, false);
	}
	printf("%s port %u: %s, %s, interface %s, address %s, node %s: %s\n", p->device, p->port, port_kind_name(p->kind), p->state,
	       p->netdev[0] != '\0' ? p->netdev : "none", address, p->node[0] != '\0' ? p->node : "none",
	       p->node_errno ? strerror(p->node_errno) : "can be opened");
	if (p->further)
		return;
	if (root[0] == '\0')
		device_attr_print(p->device, p->port, false);
	gids_print(root, p, false);
}

static void devices_print(const char *root, bool json)
{
	struct devices devices;

	if (devices_scan(&devices, root) != 0)
		return;
	for (size_t i = 0; i < devices.count; i++) {
		const struct rdma_port *p = &devices.port[i];
		char address[128] = "none";

		if (p->netdev[0] != '\0')
			netdev_address(p->netdev, address, sizeof(address));
		if (json)
			port_json(root, p, address);
		else
			port_print(root, p, address, i == 0 || strcmp(p[-1].device, p->device) != 0);
	}
	if (!json)
		printf("%s/dev/infiniband/rdma_cm: %s\n", devices.count == 0 ? "none\n" : "",
		       devices.cm_errno ? strerror(devices.cm_errno) : "can be opened");
	devices_free(&devices);
}

static void modules_print(bool json)
{
	static const char *const parts[] = { "rdma",	"ib_",	 "iw_",	  "rxe",  "siw",
					     "mlx",	"ipoib", "irdma", "cxgb", "qedr",
					     "bnxt_re", "hfi",	 "efa",	  "hns_roce", "mana",
					     "ionic",	"bonding" };
	struct conffile file;

	if (conffile_read(&file, "/proc/modules") != 0)
		return;
	for (size_t i = 0; i < file.count; i++) {
		bool wanted = false;

		file.line[i][strcspn(file.line[i], " ")] = '\0';
		for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++)
			wanted = wanted || strstr(file.line[i], parts[k]) != NULL;
		if (wanted && json)
			json_string(NULL, file.line[i]);
		else if (wanted)
			printf("%s\n", file.line[i]);
	}
	conffile_free(&file);
}

/*
 * Returns the file of a library that programs would load, malloced, or NULL. The drivers' halves in user space have the version of
 * rdma-core, which is in the name of the file that libibverbs.so.1 is a link to.
 */
static char *library_file(const char *name)
{
	void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map = NULL;
	char *file = NULL;

	if (handle == NULL)
		return NULL;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0)
		file = realpath(map->l_name, NULL);
	dlclose(handle);
	return file;
}

static void libraries_print(bool json)
{
	static const char *const names[] = { "libibverbs.so.1", "librdmacm.so.1" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *file = library_file(names[i]);

		if (json)
			json_string(names[i], file);
		else
			printf("%s: %s\n", names[i], file != NULL ? file : "not there");
		free(file);
	}
}

static void text_report(const struct utsname *uts, const char *system, const char *root)
{
	char *arguments[] = { (char *)"report", NULL };
	char *check[] = { (char *)"check", (char *)"--root", (char *)(uintptr_t)root, NULL };

	printf("== versions\nOpenDAT %s\n%s %s %s\n%s\n", PACKAGE_VERSION, uts->sysname,
	       uts->release, uts->machine, system);
	heading("limits");
	limits_print(false);
	heading("environment");
	datctl_env_set_print();
	heading("registry");
	datctl_which(1, arguments);
	files_print();
	heading("RDMA devices");
	devices_print(root, false);
	heading("kernel modules for RDMA");
	modules_print(false);
	heading("libraries for RDMA");
	libraries_print(false);
	heading("datctl check");
	datctl_check(3, check);
}

static void json_report(const struct utsname *uts, const char *system, const char *root)
{
	json_object(NULL);
	json_string("opendat", PACKAGE_VERSION);
	json_string("kernel", uts->release);
	json_string("machine", uts->machine);
	json_string("distribution", system);
	json_object("limits");
	limits_print(true);
	json_end();
	registry_json();
	json_array("rdma_ports");
	devices_print(root, true);
	json_end();
	json_array("modules");
	modules_print(true);
	json_end();
	json_object("libraries");
	libraries_print(true);
	json_end();
	json_end();
}

int datctl_report(int argc, char **argv)
{
	const char *root = "";
	struct utsname uts;
	bool json = false;
	char *system;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0)
			json = true;
		else if (strcmp(argv[i], "--root") == 0 && i + 1 < argc)
			root = argv[++i];
		else if (strcmp(argv[i], "--root") == 0)
			return cli_usage("report: --root: its value is missing");
		else
			return datctl_unwanted("report", argv[i]);
	}
	memset(&uts, 0, sizeof(uts));
	uname(&uts);
	system = distribution();
	if (json)
		json_report(&uts, system, root);
	else
		text_report(&uts, system, root);
	free(system);
	return CLI_OK;
}

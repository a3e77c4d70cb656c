/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the words of dat.conf to an open verbs device. Invariant: whatever fails here is reported on
 * stderr, with what is missing and what to do; after success, address, device and port belong
 * together.
 */
#include "rdma_device.h"
#include "rdma_gid.h"
#include <arpa/inet.h>
#include <datp/options.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ options */

static enum datp_err take_quirks(void *to, const char *names, char *why, size_t size)
{
	return rdma_quirks_take(to, names, why, size);
}

/* An older name for a quirk: "open" leaves it as the device has it. */
static enum datp_err take_read_sink(void *to, const char *value, char *why, size_t size)
{
	struct rdma_options *opt = to;
	uint32_t bit = rdma_quirk_bit(RDMA_WRITE_SINKS);
	bool strict = !strcmp(value, "strict");

	(void)why, (void)size; /* without a reason here, <datp/options.h> words the message itself */
	if (!strict && strcmp(value, "open") != 0)
		return DATP_ERR_PARAM;
	opt->quirks_on &= ~bit;
	opt->quirks_off = strict ? opt->quirks_off | bit : opt->quirks_off & ~bit;
	return DATP_OK;
}

/* A byte of the IP header; scripts write it in hexadecimal, too. */
static enum datp_err take_tos(void *to, const char *value, char *why, size_t size)
{
	struct rdma_options *opt = to;
	char *end;
	unsigned long n = strtoul(value, &end, 0);

	/* strtoul() would accept signs */
	if (value[0] < '0' || value[0] > '9' || *end || n > UINT8_MAX) {
		snprintf(why, size, "tos=%s in dat.conf is not a type of service, a number from 0 to 255", value);
		return DATP_ERR_PARAM;
	}
	opt->tos = (uint32_t)n;
	opt->marks = true;
	return DATP_OK;
}

static enum datp_err take_gid(void *to, const char *value, char *why, size_t size)
{
	struct rdma_options *opt = to;
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	/* strtoul() would accept signs */
	if (value[0] < '0' || value[0] > '9' || *end || n > UINT16_MAX) {
		snprintf(why, size,
			 "gid=%s in dat.conf is not the index of a GID, a number from 0; `datctl show` prints that of an adapter",
			 value);
		return DATP_ERR_PARAM;
	}
	opt->gid = (int)n;
	return DATP_OK;
}

/* Takes the two words without a key: what names the adapter, and then the number of a port. */
static enum datp_err take_where(void *to, const char *word, char *why, size_t size)
{
	struct rdma_options *opt = to;
	char *end;
	unsigned long n = strtoul(word, &end, 10);

	if (!opt->where[0])
		return (size_t)snprintf(opt->where, sizeof(opt->where), "%s", word) <
				       sizeof(opt->where) ?
			       DATP_OK :
			       DATP_ERR_PARAM;
	if (opt->port >= 0)
		return DATP_ERR_PARAM;
	/* strtoul() would accept signs */
	if (word[0] < '0' || word[0] > '9' || *end || n > 255) {
		snprintf(why, size,
			 "\"%s\" in dat.conf is not a port; a port of a verbs device is a number "
			 "up to 255, and 0 if it does not matter",
			 word);
		return DATP_ERR_PARAM;
	}
	opt->port = (int)n;
	return DATP_OK;
}

static const char *const roces[] = { [RDMA_ROCE_ANY] = "any", [RDMA_ROCE_V1] = "v1", [RDMA_ROCE_V2] = "v2", NULL };
static const char *const rmrs[] = { [RDMA_RMR_EMULATE] = "emulate", [RDMA_RMR_DEVICE] = "device", NULL };

/*
 * The default of hold_ms. The requests of the accepting side may leave when the program of the connecting side has its
 * receives posted. Before that, three segments of TCP go one after the other: the reply, the RTR message and its answer.
 * Then the program takes its event. In a guest with two processors that four other threads kept busy, this took 157 ms at
 * most in 150 connections over siw, half of them less than 24 ms; HEARD_MS is about twice that maximum. RESEND_MS is for
 * the loss of one of the segments: Linux repeats one after 200 ms (TCP_RTO_MIN) and a round trip. A longer default would
 * delay each server that sends first by as much.
 */
enum { RESEND_MS = 200, HEARD_MS = 300 };

static const struct datp_option table[] = {
	DATP_OPTION_BYTES("inline", struct rdma_options, inline_bytes, RDMA_INLINE, 0, 4096,
			  "the longest message that its work request carries"),
	DATP_OPTION_TIME("resolve_ms", struct rdma_options, resolve_ms, 4000, 1, 600000,
			 "how long one attempt to resolve an address may take"),
	DATP_OPTION_COUNT("resolve_tries", struct rdma_options, resolve_tries, 4, 1, 1000,
			  "how many attempts are made"),
	/* the default 0, which dat.conf cannot give, stands for the value of resolve_ms and resolve_tries */
	DATP_OPTION_TIME("route_ms", struct rdma_options, route_ms, 0, 1, 600000,
			 "how long one attempt to find the route may take"),
	DATP_OPTION_COUNT("route_tries", struct rdma_options, route_tries, 0, 1, 1000,
			  "how many attempts are made for the route"),
	DATP_OPTION_TIME("late_ms", struct rdma_options, late_ms, 200, 0, 4000,
			 "how long the reply to a connection request waits for a Receive"),
	DATP_OPTION_TIME("hold_ms", struct rdma_options, hold_ms, RESEND_MS + HEARD_MS, 0, 60000,
			 "how long requests wait for the first message of the connecting side"),
	DATP_OPTION_TIME("handshake_ms", struct rdma_options, handshake_ms, 30000, 1, 3600000,
			 "how long a peer may take to confirm an accept"),
	DATP_OPTION_ENUM("rmr", struct rdma_options, rmr, RDMA_RMR_EMULATE, rmrs,
			 "what is done where there are no memory windows to rely on"),
	DATP_OPTION_OTHER("readsink", "open|strict", take_read_sink,
			  "whether a peer may write to all memory that can be read into"),
	DATP_OPTION_OTHER("gid", "N", take_gid, "the GID of a RoCE port that connections have"),
	DATP_OPTION_ENUM("roce", struct rdma_options, roce, RDMA_ROCE_ANY, roces,
			 "the version of RoCE that connections must have"),
	DATP_OPTION_OTHER("tos", "N", take_tos, "the type of service or traffic class of the packets"),
	DATP_OPTION_OTHER("quirk", "[-]NAME,...", take_quirks,
			  "what the device is known to do differently"),
};
static const struct datp_options options =
	DATP_OPTIONS(table, "NETDEV|ADDRESS|HOST|DEVICE, PORT", take_where);

/*
 * The names that OFED's providers have for some options. A value that is not possible is ignored,
 * and a word in dat.conf takes precedence.
 */
static void take_environment(struct rdma_options *opt)
{
	static const char *const names[][2] = {
		{ "DAPL_MAX_INLINE", "inline" },
		{ "DAPL_CM_ARP_TIMEOUT_MS", "resolve_ms" },
		{ "DAPL_CM_ARP_RETRY_COUNT", "resolve_tries" },
		{ "DAPL_CM_ROUTE_TIMEOUT_MS", "route_ms" },
		{ "DAPL_CM_ROUTE_RETRY_COUNT", "route_tries" },
		{ "DAPL_CM_TOS", "tos" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *text = secure_getenv(names[i][0]);
		char word[64], why[DATP_WHY_MAX];

		/* one word, and the whole of it */
		if (text && !strpbrk(text, " \t") &&
		    (size_t)snprintf(word, sizeof(word), "%s=%s", names[i][1], text) < sizeof(word))
			(void)datp_options_take(&options, word, opt, why, sizeof(why));
	}
}

bool rdma_options_parse(struct rdma_ia *ia, const char *params)
{
	char why[DATP_WHY_MAX];

	ia->opt = (struct rdma_options){ .port = -1, .gid = -1 };
	datp_options_preset(&options, &ia->opt);
	take_environment(&ia->opt);
	if (datp_options_take(&options, params, &ia->opt, why, sizeof(why))) {
		datp_log(1, "%s: %s", ia->base.name, why);
		return false;
	}
	if (!ia->opt.route_ms)
		ia->opt.route_ms = ia->opt.resolve_ms;
	if (!ia->opt.route_tries)
		ia->opt.route_tries = ia->opt.resolve_tries;
	if (ia->opt.where[0])
		return true;
	datp_log(1,
		 "%s: dat.conf does not say which adapter: give a network interface, an address or "
		 "a verbs device, as in \"eth0 0\"; `rdma link` lists them",
		 ia->base.name);
	return false;
}

/* ------------------------------------------------------------------ addresses */

static struct sockaddr_in *address_of(struct rdma_ia *ia)
{
	return (struct sockaddr_in *)&ia->base.address;
}

/*
 * Finds the device of a local address: returns an id that is bound to the address, or NULL with
 * errno. While the id exists, it occupies a port of UDP, so that it does not take the port of a
 * service point.
 */
static struct rdma_cm_id *bind_to(struct rdma_ia *ia, const struct sockaddr_in *in)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = in->sin_addr };
	struct rdma_cm_id *id;
	int err;

	if (rdma_create_id(ia->channel->channel, &id, NULL, RDMA_PS_UDP))
		return NULL;
	err = rdma_bind_addr(id, (struct sockaddr *)&at) ? errno : id->verbs ? 0 : ENODEV;
	if (!err)
		return id;
	rdma_destroy_id(id);
	errno = err;
	return NULL;
}

/* Opens the device of a bound id for the IA, in a context of its own. */
static enum datp_err adopt(struct rdma_ia *ia, struct rdma_cm_id *id,
			   const struct sockaddr_in *in)
{
	const char *device = ibv_get_device_name(id->verbs->device);
	struct datp_fork_own own;

	*address_of(ia) = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = in->sin_addr };
	ia->port = id->port_num;
	/*
	 * not librdmacm's context, which the whole process shares: this IA would get the
	 * asynchronous events of others
	 */
	datp_fork_hold(&own);
	ia->verbs = ibv_open_device(id->verbs->device);
	if (ia->verbs) {
		datp_fork_list(&ia->cmd, ia->verbs->cmd_fd);
		datp_fork_list(&ia->async, ia->verbs->async_fd);
	}
	datp_fork_release(&own);
	if (ia->verbs) {
		ia->bound = id;
		return DATP_OK;
	}
	datp_log(1, "%s: cannot open verbs device %s: %s; is /dev/infiniband readable and writable?",
		 ia->base.name, device, strerror(errno));
	return DATP_ERR_DEVICE;
}

/* Returns true if an address could not be bound because of a lack, which says nothing about the address. */
static bool is_lack(int err)
{
	return err == ENOMEM || err == EAGAIN || err == EMFILE || err == ENFILE;
}

static void say_lack(const struct rdma_ia *ia, const char *what, int err)
{
	bool files = err == EMFILE || err == ENFILE;

	datp_log(1, "%s: librdmacm cannot use %s (rdma_bind_addr): %s; %s", ia->base.name, what, strerror(err),
		 files ? "raise the limit of open files (ulimit -n)" :
			 "raise the limit of memory (ulimit -v), or end programs that use the device");
}

/* Reports why an address has no device. */
static void say_no_device(const struct rdma_ia *ia, const char *what, int err)
{
	if (is_lack(err))
		say_lack(ia, what, err);
	else if (err == ENODEV)
		datp_log(1,
			 "%s: no RDMA device serves %s: `rdma link` lists the devices of this "
			 "host; over Ethernet one is added with `rdma link add rxe0 type rxe "
			 "netdev NETDEV`",
			 ia->base.name, what);
	else
		datp_log(1, "%s: cannot use %s: %s; is it an address of this host, and the interface up?",
			 ia->base.name, what, strerror(err));
}

static enum datp_err open_address(struct rdma_ia *ia, const struct sockaddr_in *in,
				  const char *what)
{
	struct rdma_cm_id *id = bind_to(ia, in);
	enum datp_err err;
	int why = errno;

	if (!id) {
		say_no_device(ia, what, why);
		return is_lack(why) ? DATP_ERR_MEMORY : why == ENODEV ? DATP_ERR_DEVICE : DATP_ERR_ADDRESS;
	}
	err = adopt(ia, id, in);
	if (err)
		rdma_destroy_id(id);
	return err;
}

/*
 * Finds the first IPv4 address of an interface. Returns 1 if there is one, 0 if the interface has
 * none, and -1 if there is no such interface. The list has each interface by itself, besides its
 * addresses. if_nametoindex() is not used, because for an unknown name, such as that of a verbs
 * device, it makes the kernel look for a module, which takes a third of a second in a slow guest,
 * for each IA that is opened.
 */
static int netdev_address(const char *name, struct sockaddr_in *in, bool *up)
{
	struct ifaddrs *all, *a;
	int found = -1;

	*up = false;
	if (getifaddrs(&all))
		return found;
	for (a = all; a && found < 1; a = a->ifa_next) {
		if (strcmp(a->ifa_name, name))
			continue;
		found = 0;
		*up = a->ifa_flags & IFF_UP;
		if (a->ifa_addr && a->ifa_addr->sa_family == AF_INET) {
			memcpy(in, a->ifa_addr, sizeof(*in));
			found = 1;
		}
	}
	freeifaddrs(all);
	return found;
}

static enum datp_err open_netdev(struct rdma_ia *ia, bool *known)
{
	const char *name = ia->opt.where;
	struct sockaddr_in in;
	bool up;
	int found = netdev_address(name, &in, &up);

	*known = found >= 0;
	if (found < 0)
		return DATP_ERR_ADDRESS;
	if (!found)
		datp_log(1,
			 "%s: network interface %s has no IPv4 address: give it one with `ip address "
			 "add ADDRESS/BITS dev %s`",
			 ia->base.name, name, name);
	else if (!up)
		datp_log(1, "%s: network interface %s is down: `ip link set %s up`", ia->base.name,
			 name, name);
	if (!found || !up)
		return DATP_ERR_ADDRESS;
	return open_address(ia, &in, name);
}

/* ------------------------------------------------------------------ verbs devices by name */

static bool verbs_device_known(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	bool known = false;

	for (int i = 0; list && list[i] && !known; i++)
		known = !strcmp(ibv_get_device_name(list[i]), name);
	if (list)
		ibv_free_device_list(list);
	return known;
}

/* Returns the error, and reports why no address belongs to the device; `lack` is an errno, or 0. */
static enum datp_err no_address(const struct rdma_ia *ia, int lack)
{
	if (lack) {
		say_lack(ia, ia->opt.where, lack);
		return DATP_ERR_MEMORY;
	}
	datp_log(1,
		 "%s: no interface that is up has an IPv4 address on verbs device %s port "
		 "%d: `rdma link` shows the netdev, and `ip address` its addresses",
		 ia->base.name, ia->opt.where, ia->opt.port > 0 ? ia->opt.port : 1);
	return DATP_ERR_ADDRESS;
}

/*
 * Opens a verbs device by an address of its own. Verbs do not list a device's addresses, so this tries each address of the host
 * until one belongs to the device.
 */
static enum datp_err open_verbs_device(struct rdma_ia *ia)
{
	const char *name = ia->opt.where;
	struct ifaddrs *all = NULL;
	enum datp_err err = DATP_OK;
	bool found = false;
	int lack = 0;

	if (getifaddrs(&all)) {
		datp_log(1, "%s: cannot list the addresses of this host (getifaddrs): %s; raise the limits of "
			    "open files (ulimit -n) and of memory (ulimit -v)",
			 ia->base.name, strerror(errno));
		return DATP_ERR_DEVICE;
	}
	for (struct ifaddrs *a = all; a && !found; a = a->ifa_next) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)a->ifa_addr;
		struct rdma_cm_id *id;

		if (!in || in->sin_family != AF_INET || !(a->ifa_flags & IFF_UP))
			continue;
		id = bind_to(ia, in);
		if (!id) {
			lack = is_lack(errno) ? errno : lack;
			continue;
		}
		found = !strcmp(ibv_get_device_name(id->verbs->device), name) &&
			(ia->opt.port <= 0 || id->port_num == ia->opt.port);
		if (found)
			err = adopt(ia, id, in);
		if (id != ia->bound)
			rdma_destroy_id(id);
	}
	freeifaddrs(all);
	return found ? err : no_address(ia, lack);
}

/*
 * Returns the first of the host's addresses that a device serves, or else the first one; hosts have
 * a 127.0.1.1, too.
 */
static const struct sockaddr_in *served(struct rdma_ia *ia, const struct addrinfo *found)
{
	const struct addrinfo *one = found;
	struct rdma_cm_id *id = NULL;

	while (one && !(id = bind_to(ia, (const struct sockaddr_in *)one->ai_addr)))
		one = one->ai_next;
	if (id)
		rdma_destroy_id(id);
	return (const struct sockaddr_in *)(one ? one : found)->ai_addr;
}

static enum datp_err open_host(struct rdma_ia *ia)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *found;
	enum datp_err err;
	int rc = getaddrinfo(ia->opt.where, NULL, &hints, &found);

	if (rc) {
		datp_log(1,
			 "%s: \"%s\" in dat.conf is not a network interface, a verbs device, an "
			 "IPv4 address or a host name (%s): see `ip -br address` and `rdma link`",
			 ia->base.name, ia->opt.where, gai_strerror(rc));
		return DATP_ERR_ADDRESS_MALFORMED;
	}
	err = open_address(ia, served(ia, found), ia->opt.where);
	freeaddrinfo(found);
	return err;
}

/* ------------------------------------------------------------------ all together */

void rdma_device_close(struct rdma_ia *ia)
{
	struct datp_fork_own own;

	datp_fork_hold(&own);
	datp_fork_unlist(&ia->cmd);
	datp_fork_unlist(&ia->async);
	ibv_close_device(ia->verbs);
	datp_fork_release(&own);
}

static enum datp_err check_port(struct rdma_ia *ia)
{
	if (ibv_query_device(ia->verbs, &ia->dev) ||
	    ibv_query_port(ia->verbs, ia->port, &ia->port_attr)) {
		datp_log(1, "%s: cannot query verbs device %s: %s", ia->base.name,
			 ibv_get_device_name(ia->verbs->device), strerror(errno));
		return DATP_ERR_DEVICE;
	}
	if (ia->opt.port > ia->dev.phys_port_cnt) {
		datp_log(1, "%s: verbs device %s has no port %d, only 1 to %d", ia->base.name,
			 ibv_get_device_name(ia->verbs->device), ia->opt.port,
			 ia->dev.phys_port_cnt);
		return DATP_ERR_PARAM;
	}
	if (ia->port_attr.state != IBV_PORT_ACTIVE) {
		datp_log(1,
			 "%s: port %d of verbs device %s is %s: connect its cable, or `ip link set "
			 "NETDEV up`",
			 ia->base.name, ia->port, ibv_get_device_name(ia->verbs->device),
			 ibv_port_state_str(ia->port_attr.state));
		return DATP_ERR_DEVICE;
	}
	return DATP_OK;
}

/* Returns true if the line allows the address: it names the device, an interface that has the address, or the address itself. */
static bool line_allows(const struct rdma_ia *ia, const struct sockaddr_in *in)
{
	const char *name = ia->opt.where;
	struct ifaddrs *all, *a;
	bool has = verbs_device_known(name);

	if (has || getifaddrs(&all))
		return has;
	for (a = all; a && !has; a = a->ifa_next)
		has = !strcmp(a->ifa_name, name) && a->ifa_addr && a->ifa_addr->sa_family == AF_INET &&
		      ((const struct sockaddr_in *)a->ifa_addr)->sin_addr.s_addr == in->sin_addr.s_addr;
	freeifaddrs(all);
	return has;
}

/* Binds the IA to this address of the device in place of the one that it has. */
static enum datp_err move_to(struct rdma_ia *ia, const struct sockaddr_in *in)
{
	char text[INET_ADDRSTRLEN] = "?";
	struct rdma_cm_id *id;

	inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
	if (!line_allows(ia, in)) {
		datp_log(1,
			 "%s: gid=%d in dat.conf is the GID of %s, which is no address of %s, the adapter in its line: name "
			 "verbs device %s there, or leave gid= out",
			 ia->base.name, ia->opt.gid, text, ia->opt.where, ibv_get_device_name(ia->verbs->device));
		return DATP_ERR_PARAM;
	}
	id = bind_to(ia, in);
	if (id && (id->port_num != ia->port || strcmp(ibv_get_device_name(id->verbs->device),
						       ibv_get_device_name(ia->verbs->device)))) {
		rdma_destroy_id(id);
		id = NULL;
		errno = ENODEV;
	}
	if (!id) {
		say_no_device(ia, text, errno);
		return DATP_ERR_ADDRESS;
	}
	rdma_destroy_id(ia->bound);
	ia->bound = id;
	address_of(ia)->sin_addr = in->sin_addr;
	return DATP_OK;
}

/* Chooses the address by gid= and roce=, if the line has them. */
static enum datp_err choose_gid(struct rdma_ia *ia)
{
	struct sockaddr_in in = *address_of(ia);
	enum datp_err err = rdma_gid_address(ia, &in);

	return err || in.sin_addr.s_addr == address_of(ia)->sin_addr.s_addr ? err : move_to(ia, &in);
}

enum datp_err rdma_device_open(struct rdma_ia *ia)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	enum datp_err err;
	bool known = false;

	if (inet_pton(AF_INET, ia->opt.where, &in.sin_addr) == 1) {
		err = open_address(ia, &in, ia->opt.where);
	} else {
		err = open_netdev(ia, &known);
		if (!known)
			err = verbs_device_known(ia->opt.where) ? open_verbs_device(ia)
								: open_host(ia);
	}
	if (!err)
		err = check_port(ia);
	return err ? err : choose_gid(ia);
}

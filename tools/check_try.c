/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One adapter tried in a child process: its library is loaded, it is opened, and memory is
 * registered, as a program would do it.
 *
 * What is reported: "stage" before each step, so that whoever crashes or hangs is named; "why" with
 * the loader's words, "ret" with the DAT_RETURN of a step that failed, "event" with the number of
 * an event that came in place of a connection, "path" and "address" when they are known. The last
 * stage of an adapter that works is "done".
 *
 * Invariant: exactly this entry is tried, and no other of its name: in the registry of the child
 * the name is there once.
 */
#include "config.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <dat/dat_registry.h>
#include <dat/udat.h>

#include "check.h"
#include "probe.h"
#include "registry/loader.h"

#define SAMPLE	 ((size_t)1 << 20) /* the number of bytes to register */
#define PATIENCE (5 * 1000000u)	   /* how long a peer may take to answer, in microseconds */

static struct loader_lib *library; /* the library of this child; it stays loaded */

static bool library_try(const struct conf_entry *e)
{
	char *why;

	probe_say("stage", "library");
	library = loader_open(e->library, &why);
	if (library == NULL) {
		probe_say("why", "%s", why != NULL ? why : "out of memory");
		return false;
	}
	probe_say("path", "%s", loader_path(library));
	probe_say("stage", "symbol");
	return loader_symbol(library, DAT_PROVIDER_INIT_FUNC_STR) != NULL;
}

/* Reports the provider's own reason why it did not register or open, if it has one. */
static void words_tell(void)
{
	const char *(*why)(void) =
		(const char *(*)(void))(uintptr_t)loader_symbol(library, "datp_plugin_why");
	const char *words = why != NULL ? why() : NULL;

	if (words != NULL)
		probe_say("why", "%s", words);
}

static void field_write(FILE *file, const char *text)
{
	fputs(" \"", file);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', file);
		fputc(*text, file);
	}
	fputc('"', file);
}

static void entry_write(FILE *file, const struct conf_entry *e)
{
	field_write(file, e->name);
	fprintf(file, " u%u.%u %s default", e->major, e->minor,
		e->thread_safe ? "threadsafe" : "nonthreadsafe");
	field_write(file, e->library);
	field_write(file, e->provider_version);
	field_write(file, e->ia_params);
	fprintf(file, " \"\"\n");
}

#define LARGE 1000 /* a number of lines that nobody writes by hand */
#define CHAIN 4	   /* wrappers on top of each other */

/*
 * Writes the lines that may be beneath e: all other adapters. In a large registry, which each child
 * has to read, only those that its parameters name, those that the first of these names, and so on.
 */
static void others_write(FILE *file, const struct check *c, const struct conf_entry *e)
{
	const struct conf_entry *above = e;

	for (int depth = 0; depth < CHAIN && above != NULL; depth++) {
		const struct conf_entry *next = NULL;

		for (const struct conf_entry *other = c->conf.entries; other != NULL;
		     other = other->next) {
			if (other->skip != CONF_USED || strcmp(other->name, e->name) == 0 ||
			    (c->entries > LARGE && strstr(above->ia_params, other->name) == NULL))
				continue;
			entry_write(file, other);
			if (next == NULL && *other->ia_params != '\0')
				next = other;
		}
		above = c->entries > LARGE ? next : NULL;
	}
}

/*
 * Makes a registry for libdat to read: this entry, and those with other names, because a wrapper
 * opens the adapter beneath it.
 */
static bool registry_make(const struct check *c, const struct conf_entry *e)
{
	char path[64];
	int fd = memfd_create("dat.conf", 0);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (file == NULL)
		return false;
	entry_write(file, e);
	if (c->entries <= LARGE || *e->ia_params != '\0')
		others_write(file, c, e);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return fflush(file) == 0 && setenv("DAT_OVERRIDE", path, 1) == 0 &&
	       unsetenv("DAT_DBG_TYPE") == 0 && unsetenv("DAT_DBG_DEST") == 0 &&
	       setenv("DAT_LOG", "warning", 1) == 0;
}

/* Reports a step that failed. */
static bool step(DAT_RETURN ret)
{
	if (ret != DAT_SUCCESS)
		probe_say("ret", "%lu", (unsigned long)ret);
	return ret == DAT_SUCCESS;
}

static bool address_tell(DAT_IA_HANDLE ia)
{
	char text[NI_MAXHOST];
	DAT_EVD_HANDLE async_evd;
	DAT_IA_ATTR attr;
	const struct sockaddr *sa;
	socklen_t size;

	probe_say("stage", "query");
	memset(&attr, 0, sizeof(attr));
	if (!step(dat_ia_query(ia, &async_evd, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
			       DAT_PROVIDER_FIELD_NONE, NULL)))
		return false;
	sa = (const struct sockaddr *)attr.ia_address_ptr;
	if (sa == NULL)
		return true;
	size = sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	if (getnameinfo(sa, size, text, sizeof(text), NULL, 0, NI_NUMERICHOST) == 0)
		probe_say("address", "%s", text);
	return true;
}

static bool memory_try(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN length;
	DAT_VADDR address;
	DAT_LMR_HANDLE lmr;

	probe_say("stage", "memory");
	region.for_va = calloc(1, SAMPLE);
	return region.for_va != NULL &&
	       step(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, SAMPLE, pz,
				   DAT_MEM_PRIV_ALL_FLAG, &lmr, &lmr_context, &rmr_context, &length,
				   &address)) &&
	       step(dat_lmr_free(lmr));
}

static bool listen_try(const struct check *c, DAT_IA_HANDLE ia)
{
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;

	probe_say("stage", "listen");
	return step(dat_evd_create(ia, 4, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd)) &&
	       step(dat_psp_create(ia, c->listen, evd, DAT_PSP_CONSUMER_FLAG, &psp)) &&
	       step(dat_psp_free(psp));
}

/* A peer that answers has been reached, even if it rejects; the rejection is reported as such. */
static bool connect_try(const struct check *c, DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz)
{
	struct sockaddr_storage peer = c->peer;
	DAT_EVD_HANDLE dto, conn;
	DAT_EP_HANDLE ep;
	DAT_EVENT event;
	DAT_COUNT more;

	probe_say("stage", "connect");
	if (!step(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dto)) ||
	    !step(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn)) ||
	    !step(dat_ep_create(ia, pz, dto, dto, conn, NULL, &ep)) ||
	    !step(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&peer, c->peer_qual, PATIENCE, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG)) ||
	    !step(dat_evd_wait(conn, 2 * PATIENCE, 1, &event, &more)))
		return false;
	if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED) {
		probe_say("event", "%lu", (unsigned long)event.event_number);
		return false;
	}
	return step(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
}

void check_try(void *arg)
{
	const struct check_try *try = arg;
	const struct conf_entry *e = try->entry;
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;

	if (!library_try(e))
		return;
	probe_say("stage", "open");
	if (!registry_make(try->check, e)) {
		probe_say("why", "cannot create a registry for its test: %s", strerror(errno));
		return;
	}
	if (!step(dat_ia_openv(e->name, 8, &async_evd, &ia, e->major, e->minor, e->thread_safe))) {
		words_tell();
		return;
	}
	if (!address_tell(ia))
		return;
	probe_say("stage", "memory");
	if (!step(dat_pz_create(ia, &pz)) || !memory_try(ia, pz))
		return;
	if (try->check->listen != 0 && !listen_try(try->check, ia))
		return;
	if (try->check->peer_qual != 0 && !connect_try(try->check, ia, pz))
		return;
	probe_say("stage", "close");
	if (!step(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG)))
		return;
	probe_say("stage", "done");
}

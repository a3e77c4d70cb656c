/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program calls to use an adapter, for `datctl check`. check_try.c describes what is reported.
 *
 * Compiled twice: here for uDAPL 1.2, whose library this program is linked with, and by
 * check_calls20.c for 2.0, whose calls have the same names and are looked up in libdat2.so.2.
 *
 * Invariant: a return value is reported by its name, because the APIs number them differently.
 */
#include "config.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#ifdef CHECK_API_20
#include <dat2/udat.h>

#include "dat20.h"
#define API(call) ((__typeof__(&(call)))(uintptr_t)dat20_symbol(#call))
#define ADDRESSES DAT_VA_TYPE_VA,
#define check_calls check_calls20
#else
#include <dat/udat.h>

#define API(call) call
#define ADDRESSES
#endif

#include "check.h"
#include "probe.h"

#define SAMPLE	 ((size_t)1 << 20) /* the number of bytes to register */
#define PATIENCE (5 * 1000000u)	   /* how long a peer may take to answer, in microseconds */

/* Reports a step that failed: "DAT_INTERNAL_ERROR", "DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY". */
static bool step(DAT_RETURN ret)
{
	const char *type, *subtype;

	if (ret == DAT_SUCCESS)
		return true;
	if (API(dat_strerror)(ret, &type, &subtype) != DAT_SUCCESS)
		probe_say("ret", "0x%08x", (unsigned int)ret);
	else
		probe_say("ret", "%s%s%s", type, *subtype != '\0' ? " " : "", subtype);
	return false;
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
	if (!step(API(dat_ia_query)(ia, &async_evd, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
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
	       step(API(dat_lmr_create)(ia, DAT_MEM_TYPE_VIRTUAL, region, SAMPLE, pz,
					DAT_MEM_PRIV_ALL_FLAG, ADDRESSES &lmr, &lmr_context,
					&rmr_context, &length, &address)) &&
	       step(API(dat_lmr_free)(lmr));
}

static bool listen_try(const struct check *c, DAT_IA_HANDLE ia)
{
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;

	probe_say("stage", "listen");
	return step(API(dat_evd_create)(ia, 4, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd)) &&
	       step(API(dat_psp_create)(ia, c->listen, evd, DAT_PSP_CONSUMER_FLAG, &psp)) &&
	       step(API(dat_psp_free)(psp));
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
	if (!step(API(dat_evd_create)(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dto)) ||
	    !step(API(dat_evd_create)(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn)) ||
	    !step(API(dat_ep_create)(ia, pz, dto, dto, conn, NULL, &ep)) ||
	    !step(API(dat_ep_connect)(ep, (DAT_IA_ADDRESS_PTR)&peer, c->peer_qual, PATIENCE, 0,
				      NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG)) ||
	    !step(API(dat_evd_wait)(conn, 2 * PATIENCE, 1, &event, &more)))
		return false;
	if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED) {
		probe_say("event", "%lu", (unsigned long)event.event_number);
		return false;
	}
	return step(API(dat_ep_disconnect)(ep, DAT_CLOSE_ABRUPT_FLAG));
}

/* The steps after the adapter has been opened. Returns false if one has failed, which it has reported. */
static bool opened_try(const struct check *c, DAT_IA_HANDLE ia)
{
	DAT_PZ_HANDLE pz;

	if (!address_tell(ia))
		return false;
	probe_say("stage", "memory");
	if (!step(API(dat_pz_create)(ia, &pz)) || !memory_try(ia, pz))
		return false;
	if (c->listen != 0 && !listen_try(c, ia))
		return false;
	if (c->peer_qual != 0 && !connect_try(c, ia, pz))
		return false;
	probe_say("stage", "close");
	return step(API(dat_ia_close)(ia, DAT_CLOSE_ABRUPT_FLAG));
}

bool check_calls(const struct check *c, const struct conf_entry *e)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	if (!step(API(dat_ia_openv)(e->name, 8, &async_evd, &ia, e->major, e->minor,
				    e->thread_safe)))
		return false;
	if (opened_try(c, ia))
		probe_say("stage", "done");
	return true;
}

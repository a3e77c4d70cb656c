/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An IA of the loopback transport with the usual objects on it, and functions for the usual
 * operations.
 */
#ifndef CORE_WORLD_H
#define CORE_WORLD_H

#include <string.h>

#include "check.h"
#include "core_loopback.h"
#include "providers/common/core/core.h"

enum { WORLD_QUAL = 4711, WORLD_BYTES = 4096 };

static struct {
	const DAT_PROVIDER *dat;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, cr, conn, dto, dto2;	/* dto2: of the passive endpoints */
	DAT_PZ_HANDLE pz;
	DAT_PSP_HANDLE psp;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	char bytes[WORLD_BYTES];
} w;

#define DAT w.dat

static inline DAT_TIMEOUT world_patience(void)
{
	return check_patience_ms() * 1000;
}

static inline DAT_EVD_HANDLE world_evd(DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	REQUIRE_DAT(DAT->evd_create_func(w.ia, 8, DAT_HANDLE_NULL, flags, &evd), DAT_SUCCESS);
	return evd;
}

static inline void world_open(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = w.bytes };
	DAT_VADDR address;
	DAT_VLEN size;
	char name[] = "loop0";

	memset(&w, 0, sizeof(w));
	memset(&null_counts, 0, sizeof(null_counts));
	null_registry.shown = NULL;
	w.dat = loopback_load();
	REQUIRE(w.dat != NULL);
	REQUIRE_DAT(DAT->ia_open_func(name, 8, &w.async, &w.ia), DAT_SUCCESS);
	w.cr = world_evd(DAT_EVD_CR_FLAG | DAT_EVD_SOFTWARE_FLAG);
	w.conn = world_evd(DAT_EVD_CONNECTION_FLAG);
	w.dto = world_evd(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	w.dto2 = world_evd(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	REQUIRE_DAT(DAT->pz_create_func(w.ia, &w.pz), DAT_SUCCESS);
	REQUIRE_DAT(DAT->lmr_create_func(w.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(w.bytes), w.pz,
					 DAT_MEM_PRIV_ALL_FLAG, &w.lmr, &w.lmr_context,
					 &w.rmr_context, &size, &address),
		    DAT_SUCCESS);
	REQUIRE_DAT(DAT->psp_create_func(w.ia, WORLD_QUAL, w.cr, DAT_PSP_CONSUMER_FLAG, &w.psp),
		    DAT_SUCCESS);
}

/*
 * Closes the IA, which frees all that a test has left, and checks that the transport has no
 * endpoint, EVD, service point or CR any more.
 */
static inline void world_close(void)
{
	if (w.ia)
		CHECK_DAT(DAT->ia_close_func(w.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	w.ia = NULL;
	CHECK_EQ_INT(null_counts.eps, 0);
	CHECK_EQ_INT(null_counts.evds, 0);
	CHECK_EQ_INT(null_counts.sps, 0);
	CHECK_EQ_INT(loopback.crs, 0);
	CHECK_EQ_INT(null_counts.opens, null_counts.closes);
	loopback_unload();
}

static inline DAT_EP_HANDLE world_ep_on(DAT_EVD_HANDLE dto, const DAT_EP_ATTR *attr)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	REQUIRE_DAT(DAT->ep_create_func(w.ia, w.pz, dto, dto, w.conn, attr, &ep), DAT_SUCCESS);
	return ep;
}

static inline DAT_EP_HANDLE world_ep(void)
{
	return world_ep_on(w.dto, NULL);
}

static inline DAT_EP_STATE world_state(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state = (DAT_EP_STATE)-1;

	CHECK_DAT(DAT->ep_get_status_func(ep, &state, NULL, NULL), DAT_SUCCESS);
	return state;
}

static inline DAT_EVENT world_next(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	memset(&event, 0, sizeof(event));
	REQUIRE_DAT(DAT->evd_wait_func(evd, world_patience(), 1, &event, &nmore), DAT_SUCCESS);
	CHECK(event.evd_handle == evd);
	return event;
}

static inline DAT_EVENT world_expect(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event = world_next(evd);

	REQUIRE_EQ_INT(event.event_number, number);
	return event;
}

#define CHECK_EMPTY(evd)								\
	do {										\
		DAT_EVENT none_;							\
		CHECK_DAT(DAT->evd_dequeue_func(evd, &none_), DAT_QUEUE_EMPTY);		\
	} while (0)

static inline DAT_IA_ADDRESS_PTR world_address(void)
{
	return (DAT_IA_ADDRESS_PTR)&((struct datp_ia *)w.ia)->address;
}

static inline DAT_RETURN world_connect(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual, const char *pdata)
{
	return DAT->ep_connect_func(ep, world_address(), qual, DAT_TIMEOUT_INFINITE,
				    pdata ? (DAT_COUNT)strlen(pdata) : 0,
				    (DAT_PVOID)(uintptr_t)pdata, DAT_QOS_BEST_EFFORT,
				    DAT_CONNECT_DEFAULT_FLAG);
}

/* Waits for a connection request, and returns its CR. */
static inline DAT_CR_HANDLE world_request(void)
{
	return world_expect(w.cr, DAT_CONNECTION_REQUEST_EVENT)
		.event_data.cr_arrival_event_data.cr_handle;
}

/* Connects a to b, both UNCONNECTED, and takes both ESTABLISHED. */
static inline void world_pair(DAT_EP_HANDLE a, DAT_EP_HANDLE b)
{
	DAT_CR_HANDLE cr;

	REQUIRE_DAT(world_connect(a, WORLD_QUAL, NULL), DAT_SUCCESS);
	cr = world_request();
	REQUIRE_DAT(DAT->cr_accept_func(cr, b, 0, NULL), DAT_SUCCESS);
	world_expect(w.conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	world_expect(w.conn, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static inline DAT_LMR_TRIPLET world_segment(size_t at, size_t len)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = w.lmr_context,
				  .virtual_address = (DAT_VADDR)(uintptr_t)(w.bytes + at),
				  .segment_length = len };
}

static inline DAT_RETURN world_send(DAT_EP_HANDLE ep, size_t at, size_t len, uint64_t cookie,
				    DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET segment = world_segment(at, len);

	return DAT->ep_post_send_func(ep, 1, &segment, (DAT_DTO_COOKIE){ .as_64 = cookie }, flags);
}

static inline DAT_RETURN world_recv(DAT_EP_HANDLE ep, size_t at, size_t len, uint64_t cookie)
{
	DAT_LMR_TRIPLET segment = world_segment(at, len);

	return DAT->ep_post_recv_func(ep, 1, &segment, (DAT_DTO_COOKIE){ .as_64 = cookie },
				      DAT_COMPLETION_DEFAULT_FLAG);
}

/* Takes the next completion of an EVD, by dequeue or wait. */
static inline DAT_DTO_COMPLETION_EVENT_DATA world_dto(DAT_EVD_HANDLE evd)
{
	return world_expect(evd, DAT_DTO_COMPLETION_EVENT).event_data.dto_completion_event_data;
}

#define CHECK_DTO(evd, cookie_, status_)						\
	do {										\
		DAT_DTO_COMPLETION_EVENT_DATA dto_ = world_dto(evd);			\
		CHECK_EQ_INT(dto_.user_cookie.as_64, cookie_);				\
		CHECK_EQ_INT(dto_.status, status_);					\
	} while (0)

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library of one API's calls for many_test: one connection over one adapter, with messages and RDMA.
 */
#include <stdlib.h>
#include <string.h>

#ifdef SIDE20
#include <dat2/udat.h>
#else
#include <dat/udat.h>
#endif
#include "many.h"

enum { AREA = 8192, MESSAGE = 64, RECEIVES = 4, SECONDS = 30000000 };

struct message {
	uint64_t address;
	uint32_t context, round;
};

struct many {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, requests, conn, sent, received;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
	struct message peer; /* its last message */
	union {
		char bytes[AREA]; /* written by the peer; then what is written to it, and what is read back; then messages */
		struct message messages[AREA / sizeof(struct message)];
	} area[4];
};

enum { THEIRS, OURS, BACK, MESSAGES };

#define TRY(call) do {			\
	if ((call) != DAT_SUCCESS)	\
		return #call;		\
} while (0)

static const char *next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER wanted, DAT_EVENT *event)
{
	DAT_COUNT more;

	if (dat_evd_wait(evd, SECONDS, 1, event, &more) != DAT_SUCCESS)
		return "an event";
	return event->event_number == wanted && event->evd_handle == evd ? NULL : "another event has come";
}

static DAT_LMR_TRIPLET piece(struct many *many, int area, size_t at, size_t length)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = many->local,
				  .virtual_address = (DAT_VADDR)(uintptr_t)(many->area[area].bytes + at),
				  .segment_length = (uint32_t)length };
}

static const char *post_receive(struct many *many, unsigned int slot)
{
	DAT_LMR_TRIPLET sink = piece(many, MESSAGES, (1 + slot % RECEIVES) * MESSAGE, MESSAGE);
	DAT_DTO_COOKIE cookie = { .as_64 = slot };

	TRY(dat_ep_post_recv(many->ep, 1, &sink, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	return NULL;
}

static const char *make(struct many *many)
{
	DAT_REGION_DESCRIPTION region = { .for_va = many->area };
	DAT_MEM_PRIV_FLAGS all = DAT_MEM_PRIV_ALL_FLAG;
	const char *failed = NULL;

	TRY(dat_pz_create(many->ia, &many->pz));
	TRY(dat_evd_create(many->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &many->requests));
	TRY(dat_evd_create(many->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &many->conn));
	TRY(dat_evd_create(many->ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &many->sent));
	TRY(dat_evd_create(many->ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &many->received));
	TRY(dat_ep_create(many->ia, many->pz, many->received, many->sent, many->conn, NULL, &many->ep));
#ifdef SIDE20
	TRY(dat_lmr_create(many->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(many->area), many->pz, all, DAT_VA_TYPE_VA, &many->lmr,
			   &many->local, &many->remote, NULL, NULL));
#else
	DAT_VLEN size;
	DAT_VADDR address;

	TRY(dat_lmr_create(many->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(many->area), many->pz, all, &many->lmr, &many->local,
			   &many->remote, &size, &address));
#endif
	for (unsigned int i = 0; i < RECEIVES && !failed; i++)
		failed = post_receive(many, i);
	return failed;
}

static const char *many_open(const char *adapter, struct many **out)
{
	struct many *many = calloc(1, sizeof(*many));

	if (!many)
		return "memory";
	*out = many;
	many->async = DAT_HANDLE_NULL;
	TRY(dat_ia_open((DAT_NAME_PTR)(uintptr_t)adapter, 8, &many->async, &many->ia));
	return make(many);
}

static const char *many_listen(struct many *many, struct many_place *place)
{
	DAT_CONN_QUAL qual = 0;
	DAT_IA_ATTR attr;

	TRY(dat_psp_create_any(many->ia, &qual, many->requests, DAT_PSP_CONSUMER_FLAG, &many->psp));
	TRY(dat_ia_query(many->ia, NULL, DAT_IA_ALL, &attr, 0, NULL));
	place->qual = qual;
	memcpy(&place->address, attr.ia_address_ptr,
	       ((struct sockaddr *)attr.ia_address_ptr)->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
										 sizeof(place->address));
	return NULL;
}

static const char *many_connect(struct many *many, const struct many_place *place)
{
	struct many_place to = *place;

	TRY(dat_ep_connect(many->ep, (DAT_IA_ADDRESS_PTR)&to.address, to.qual, SECONDS, 0, NULL, DAT_QOS_BEST_EFFORT,
			   DAT_CONNECT_DEFAULT_FLAG));
	return NULL;
}

static const char *many_accept(struct many *many)
{
	DAT_EVENT event;
	const char *failed = next(many->requests, DAT_CONNECTION_REQUEST_EVENT, &event);

	if (failed)
		return failed;
	TRY(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, many->ep, 0, NULL));
	return NULL;
}

static const char *many_established(struct many *many)
{
	DAT_EVENT event;

	return next(many->conn, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

static const char *completes(struct many *many, DAT_EVD_HANDLE evd, uint64_t cookie)
{
	DAT_DTO_COMPLETION_EVENT_DATA *done;
	DAT_EVENT event;
	const char *failed = next(evd, DAT_DTO_COMPLETION_EVENT, &event);

	if (failed)
		return failed;
	done = &event.event_data.dto_completion_event_data;
	if (done->ep_handle != many->ep || done->status != DAT_DTO_SUCCESS)
		return "an operation has failed, or is another endpoint's";
	return done->user_cookie.as_64 == cookie ? NULL : "the operations complete in another order";
}

static const char *many_send(struct many *many, unsigned int round)
{
	DAT_LMR_TRIPLET source = piece(many, MESSAGES, 0, MESSAGE);
	DAT_DTO_COOKIE cookie = { .as_64 = round };

	many->area[MESSAGES].messages[0] = (struct message){ .address = (uintptr_t)many->area[THEIRS].bytes,
							     .context = many->remote,
							     .round = round };
	TRY(dat_ep_post_send(many->ep, 1, &source, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	return completes(many, many->sent, round);
}

static const char *many_receive(struct many *many, unsigned int round)
{
	const char *failed = completes(many, many->received, round);

	if (failed)
		return failed;
	memcpy(&many->peer, many->area[MESSAGES].bytes + (1 + round % RECEIVES) * MESSAGE, sizeof(many->peer));
	return many->peer.round == round ? post_receive(many, round + RECEIVES) : "the message is another";
}

static const char *many_write(struct many *many, unsigned int round)
{
	DAT_LMR_TRIPLET source = piece(many, OURS, 0, AREA), sink = piece(many, BACK, 0, AREA);
	DAT_DTO_COOKIE cookie = { .as_64 = round };
	DAT_RMR_TRIPLET there = { .rmr_context = many->peer.context, .segment_length = AREA };
	const char *failed;

#ifdef SIDE20
	there.virtual_address = many->peer.address;
#else
	there.target_address = many->peer.address;
#endif
	memset(many->area[OURS].bytes, (int)(round * 7 + 1), AREA);
	memset(many->area[BACK].bytes, 0, AREA);
	TRY(dat_ep_post_rdma_write(many->ep, 1, &source, cookie, &there, DAT_COMPLETION_DEFAULT_FLAG));
	TRY(dat_ep_post_rdma_read(many->ep, 1, &sink, cookie, &there, DAT_COMPLETION_DEFAULT_FLAG));
	failed = completes(many, many->sent, round);
	if (!failed)
		failed = completes(many, many->sent, round);
	if (failed)
		return failed;
	return memcmp(many->area[OURS].bytes, many->area[BACK].bytes, AREA) ? "other bytes come back than were written" : NULL;
}

static const char *many_close(struct many *many)
{
	TRY(dat_ia_close(many->ia, DAT_CLOSE_ABRUPT_FLAG));
	free(many);
	return NULL;
}

extern const struct many_calls many_calls;
const struct many_calls many_calls = { many_open,	many_listen, many_connect, many_accept, many_established,
				       many_send,	many_receive, many_write,  many_close };

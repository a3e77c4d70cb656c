/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datperf's data path: posting and reaping, with as few completions as the queue's depth allows.
 *
 * Requests are numbered from 1 and carry their number as cookie. One in `signal_every` reports its
 * completion, which shows that all earlier ones are complete too.
 *
 * Invariant: posted - completed <= depth, and of any `signal_every` consecutive requests one is
 * signalled; so a full queue always has a completion to wait for.
 */
#include "config.h"

#include <endian.h>
#include <inttypes.h>

#include "cli.h"
#include "datperf.h"
#include "names.h"

/* A credit's cookie distinguishes it from a message. */
#define CREDIT_COOKIE (UINT64_C(1) << 63)

#define LOOK_REQUESTS 4096u
#define LOOK_BYTES    (64u << 20)

static DAT_LMR_TRIPLET local(const struct perf_link *l, const unsigned char *buffer, uint64_t size)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = l->mem.lmr_context,
		.virtual_address = (DAT_VADDR)(uintptr_t)buffer,
		.segment_length = size,
	};
}

/* Returns the same place in the peer's memory, because both regions have the same layout. */
static DAT_RMR_TRIPLET remote(const struct perf_link *l, const unsigned char *place, uint64_t size)
{
	return (DAT_RMR_TRIPLET){
		.rmr_context = l->remote_context,
		.PERF_TARGET_ADDRESS = l->remote_base + (DAT_VADDR)(place - l->mem.base),
		.segment_length = size,
	};
}

int link_dto_failed(const DAT_EVENT *event, const char *what)
{
	DAT_DTO_COMPLETION_STATUS status = event->event_data.dto_completion_event_data.status;

	if (status == DAT_DTO_ERR_FLUSHED)
		cli_error("%s: the connection ended before it had completed (%s); see the peer's "
			  "messages, or whether it was killed", what, dto_status_name(status));
	else
		cli_error("%s failed: %s", what, dto_status_name(status));
	return -1;
}

static int reap(struct perf_link *l)
{
	DAT_EVENT event;

	if (link_next_event(l, l->request_evd, "requests", &event) != 0)
		return -1;
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		return link_dto_failed(&event, "a transfer");
	l->completed = event.event_data.dto_completion_event_data.user_cookie.as_64;
	return 0;
}

/* Waits until every request is complete. The last one posted has to be signalled. */
int link_drain(struct perf_link *l)
{
	while (l->completed < l->posted)
		if (reap(l) != 0)
			return -1;
	return 0;
}

/*
 * Looks around as a side does that waits (link_look()), because one whose requests complete quickly never waits. It is time for
 * that again after LOOK_REQUESTS, or after LOOK_BYTES, which a slow adapter moves in some seconds.
 */
static int look_now_and_then(struct perf_link *l)
{
	const uint64_t by_bytes = LOOK_BYTES / (l->mem.size > 0 ? l->mem.size : 1);
	struct perf_idle idle = { 0, 0 };

	l->look_at = l->posted + (by_bytes < 1 ? 1 : by_bytes < LOOK_REQUESTS ? by_bytes : LOOK_REQUESTS);
	return link_look(l, &idle);
}

/* Makes room for one more request and determines how it completes. */
static int next_request(struct perf_link *l, bool signal, DAT_DTO_COOKIE *cookie,
			DAT_COMPLETION_FLAGS *flags)
{
	while (l->posted - l->completed >= l->depth)
		if (reap(l) != 0)
			return -1;
	if (l->posted >= l->look_at && look_now_and_then(l) != 0)
		return -1;
	l->posted++;
	cookie->as_64 = l->posted;
	*flags = signal || l->posted % l->signal_every == 0 ? DAT_COMPLETION_DEFAULT_FLAG :
							      DAT_COMPLETION_SUPPRESS_FLAG;
	return 0;
}

int link_post(struct perf_link *l, enum perf_request what, uint64_t index, bool signal)
{
	static const char *const calls[] = {
		"dat_ep_post_send", "dat_ep_post_rdma_write", "dat_ep_post_rdma_read"
	};
	DAT_COMPLETION_FLAGS flags;
	DAT_LMR_TRIPLET mine;
	DAT_RMR_TRIPLET yours;
	DAT_DTO_COOKIE cookie;
	DAT_RETURN ret;

	if (next_request(l, signal, &cookie, &flags) != 0)
		return -1;
	switch (what) {
	case PERF_SEND:
		mine = local(l, region_out(&l->mem, index), l->mem.size);
		ret = dat_ep_post_send(l->ep, 1, &mine, cookie, flags);
		break;
	case PERF_WRITE:
		mine = local(l, region_out(&l->mem, index), l->mem.extent);
		yours = remote(l, region_in(&l->mem, index), l->mem.extent);
		ret = dat_ep_post_rdma_write(l->ep, 1, &mine, cookie, &yours, flags);
		break;
	default:
		mine = local(l, region_in(&l->mem, index), l->mem.size);
		yours = remote(l, region_out(&l->mem, index), l->mem.size);
		ret = dat_ep_post_rdma_read(l->ep, 1, &mine, cookie, &yours, flags);
		break;
	}
	if (ret == DAT_SUCCESS)
		return 0;
	cli_dat_error(ret, NULL, "%s(%" PRIu64 " bytes)", calls[what], l->mem.size);
	return -1;
}

static int post_recv(struct perf_link *l, const unsigned char *buffer, uint64_t size,
		     uint64_t number)
{
	DAT_LMR_TRIPLET mine = local(l, buffer, size);
	DAT_DTO_COOKIE cookie = { .as_64 = number };
	DAT_RETURN ret;

	ret = dat_ep_post_recv(l->ep, 1, &mine, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	if (ret == DAT_SUCCESS)
		return 0;
	cli_dat_error(ret, NULL, "dat_ep_post_recv(%" PRIu64 " bytes)", size);
	return -1;
}

int link_post_recv(struct perf_link *l, uint64_t index)
{
	return post_recv(l, region_in(&l->mem, index), l->mem.size, index);
}

int link_post_credit_recv(struct perf_link *l, uint64_t index)
{
	return post_recv(l, region_credit(&l->mem, index), PERF_CREDIT_SIZE,
			 index | CREDIT_COOKIE);
}

int link_post_credit(struct perf_link *l, uint64_t index)
{
	DAT_LMR_TRIPLET mine = local(l, region_credit(&l->mem, index), PERF_CREDIT_SIZE);
	DAT_COMPLETION_FLAGS flags;
	DAT_DTO_COOKIE cookie;
	DAT_RETURN ret;

	/* A credit's buffer is used again PERF_CREDITS credits later. */
	while (l->posted - l->completed >= PERF_CREDITS)
		if (reap(l) != 0)
			return -1;
	if (next_request(l, true, &cookie, &flags) != 0)
		return -1;
	ret = dat_ep_post_send(l->ep, 1, &mine, cookie, flags);
	if (ret == DAT_SUCCESS)
		return 0;
	cli_dat_error(ret, NULL, "dat_ep_post_send(a credit)");
	return -1;
}

/* The first credit's memory holds what this side writes, and the second's what the peer has written. */
enum { TAKEN_HERE, TAKEN_THERE };

/*
 * Writes into the peer's memory how many messages of this connection this side has taken. An earlier
 * such write may still be reading the word: then it transfers the newer count, which is as true.
 */
int link_post_taken(struct perf_link *l, uint64_t count)
{
	uint64_t *word = (uint64_t *)region_credit(&l->mem, TAKEN_HERE);
	DAT_LMR_TRIPLET mine = local(l, (unsigned char *)word, sizeof(*word));
	DAT_RMR_TRIPLET yours = remote(l, region_credit(&l->mem, TAKEN_THERE), sizeof(*word));
	DAT_COMPLETION_FLAGS flags;
	DAT_DTO_COOKIE cookie;
	DAT_RETURN ret;

	if (next_request(l, true, &cookie, &flags) != 0)
		return -1;
	/* relaxed: the post that follows orders it */
	__atomic_store_n(word, htobe64(count), __ATOMIC_RELAXED);
	ret = dat_ep_post_rdma_write(l->ep, 1, &mine, cookie, &yours, flags);
	if (ret == DAT_SUCCESS)
		return 0;
	cli_dat_error(ret, NULL, "dat_ep_post_rdma_write(a credit)");
	return -1;
}

/* Returns how many messages of this connection the peer has taken, as far as it has written it. */
uint64_t link_taken(const struct perf_link *l)
{
	const uint64_t *word = (const uint64_t *)region_credit(&l->mem, TAKEN_THERE);

	/* acquire: the peer has read the slots before it wrote the count; they are written after this */
	return be64toh(__atomic_load_n(word, __ATOMIC_ACQUIRE));
}

/* Takes the next message, which has to have `size` bytes. */
int link_poll_recv(struct perf_link *l, uint64_t size, uint64_t *number)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	if (link_next_event(l, l->recv_evd, "receives", &event) != 0)
		return -1;
	dto = &event.event_data.dto_completion_event_data;
	if (dto->status != DAT_DTO_SUCCESS)
		return link_dto_failed(&event, "a receive");
	if (dto->transfered_length != size) {
		cli_error("a message of %" PRIu64 " bytes arrived with %" PRIu64
			  "; the adapter lost or added some", size,
			  (uint64_t)dto->transfered_length);
		return -1;
	}
	*number = dto->user_cookie.as_64 & ~CREDIT_COOKIE;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of the conversation of `datctl ping`; ping.h states the invariant.
 */
#include "config.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "names.h"
#include "ping.h"

#define MAGIC 0x64617463746c3031 /* "datctl01" */

static bool good(DAT_RETURN ret, const char *call)
{
	if (ret != DAT_SUCCESS)
		cli_dat_error(ret, NULL, "%s", call);
	return ret == DAT_SUCCESS;
}

#define GOOD(call, ...) good(API(call)(__VA_ARGS__), #call)

/* The arguments and the field in which the APIs differ. */
#ifdef PING_API_20
#define ADDRESSES DAT_VA_TYPE_VA,
#define LMR_OF(memory) (memory).lmr,
#define REMOTE_ADDRESS virtual_address
#else
#define ADDRESSES
#define LMR_OF(memory)
#define REMOTE_ADDRESS target_address
#endif

/* -------------------------------------------------------------------------------- the objects */

bool ping_open(struct ping_end *end)
{
	DAT_RETURN ret;

	end->async_evd = DAT_HANDLE_NULL;
	ret = API(dat_ia_openv)((DAT_NAME_PTR)end->adapter, 8, &end->async_evd, &end->ia,
				DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE);
	if (ret != DAT_SUCCESS) {
		cli_open_error(ret, end->adapter);
		end->ia = DAT_HANDLE_NULL;
		return false;
	}
	return GOOD(dat_ia_query, end->ia, &end->async_evd, DAT_IA_FIELD_ALL, &end->ia_attr,
		    DAT_PROVIDER_FIELD_ALL, &end->provider_attr) &&
	       !cli_stays_in_process(end->adapter, end->ia_attr.transport_attr,
				     end->ia_attr.num_transport_attr);
}

static bool memory_register(struct ping_end *end, struct ping_memory *m, size_t size)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN length;
	DAT_VADDR address;

	m->size = size;
	m->byte = aligned_alloc(4096, size);
	if (m->byte == NULL) {
		cli_error("out of memory");
		return false;
	}
	memset(m->byte, 0, size);
	region.for_va = m->byte;
	/* All rights: on iWARP the peer writes even to the local side of an RDMA Read. */
	return GOOD(dat_lmr_create, end->ia, DAT_MEM_TYPE_VIRTUAL, region, size, end->pz,
		    DAT_MEM_PRIV_ALL_FLAG, ADDRESSES &m->lmr, &m->local, &m->remote, &length, &address);
}

bool ping_prepare(struct ping_end *end)
{
	return GOOD(dat_pz_create, end->ia, &end->pz) &&
	       GOOD(dat_evd_create, end->ia, PING_WAITING, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &end->cr_evd) &&
	       GOOD(dat_evd_create, end->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
		    &end->conn_evd) &&
	       GOOD(dat_evd_create, end->ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
		    &end->recv_evd) &&
	       GOOD(dat_evd_create, end->ia, 16, DAT_HANDLE_NULL,
		    DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &end->request_evd) &&
	       memory_register(end, &end->out, PING_MESSAGE) &&
	       memory_register(end, &end->in, PING_MESSAGE) &&
	       memory_register(end, &end->shared, PING_REGION) &&
	       memory_register(end, &end->window, PING_REGION) &&
	       memory_register(end, &end->local, PING_REGION);
}

bool ping_endpoint(struct ping_end *end)
{
	return GOOD(dat_ep_create, end->ia, end->pz, end->recv_evd, end->request_evd, end->conn_evd,
		    NULL, &end->ep) &&
	       ping_post_receive(end);
}

static void drain(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (API(dat_evd_dequeue)(evd, &event) == DAT_SUCCESS)
		;
}

void ping_hang_up(struct ping_end *end)
{
	if (end->ep != DAT_HANDLE_NULL)
		API(dat_ep_free)(end->ep);
	end->ep = DAT_HANDLE_NULL;
	if (end->rmr != DAT_HANDLE_NULL)
		API(dat_rmr_free)(end->rmr);
	end->rmr = DAT_HANDLE_NULL;
	drain(end->conn_evd);
	drain(end->recv_evd);
	drain(end->request_evd);
}

/*
 * Closes abruptly: whatever is left is freed with the adapter, and the peer does not access the
 * memory any more.
 */
void ping_close(struct ping_end *end)
{
	struct ping_memory *const all[] = { &end->out, &end->in, &end->shared, &end->window,
					    &end->local };

	if (end->ia != DAT_HANDLE_NULL)
		API(dat_ia_close)(end->ia, DAT_CLOSE_ABRUPT_FLAG);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free(all[i]->byte);
}

/* ---------------------------------------------------------------------------------- patterns */

static unsigned char pattern(enum ping_step step, size_t i)
{
	return (unsigned char)(i * 167 + (i >> 8) * 13 + (size_t)step * 31);
}

void ping_fill(struct ping_memory *m, size_t from, enum ping_step step)
{
	for (size_t i = from; i < m->size; i++)
		m->byte[i] = pattern(step, i);
}

bool ping_check(const struct ping_memory *m, size_t from, enum ping_step step, const char *what)
{
	for (size_t i = from; i < m->size; i++) {
		if (m->byte[i] == pattern(step, i))
			continue;
		cli_error(
			"%s: byte %zu is 0x%02x and should be 0x%02x: data were damaged during the "
			"transfer; report it to the authors of this provider",
			what, i, m->byte[i], pattern(step, i));
		return false;
	}
	return true;
}

static void put64(unsigned char *to, uint64_t value)
{
	value = htobe64(value);
	memcpy(to, &value, sizeof(value));
}

static uint64_t get64(const unsigned char *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return be64toh(value);
}

void ping_place_pack(unsigned char data[PING_PRIVATE], struct ping_place place)
{
	put64(data, MAGIC);
	put64(data + 8, place.key);
	put64(data + 16, place.address);
	put64(data + 24, 0);
}

bool ping_place_unpack(const void *data, DAT_COUNT size, struct ping_place *place)
{
	if (data == NULL || size < PING_PRIVATE || get64(data) != MAGIC)
		return false;
	place->key = (DAT_RMR_CONTEXT)get64((const unsigned char *)data + 8);
	place->address = get64((const unsigned char *)data + 16);
	return true;
}

/* ------------------------------------------------------------------------------------ events */

bool ping_event(struct ping_end *end, DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER expected,
		const char *what, DAT_EVENT *event)
{
	bool lost = false;
	DAT_COUNT more;
	DAT_RETURN ret = end->queue != NULL ? ping_queue_await(end, evd, event, &lost) :
					      API(dat_evd_wait)(evd, end->patience, 1, event, &more);

	if (lost) {
		cli_error("%s: a client that is silent loses its turn, because others wait", what);
		return false;
	}
	if (ret != DAT_SUCCESS) {
		cli_dat_error(ret, NULL, "%s", what);
		return false;
	}
	if (event->event_number != expected) {
		cli_error("%s: %s instead of %s; 'datctl explain %s' tells what that means", what,
			  event_name(event->event_number), event_name(expected),
			  event_name(event->event_number));
		return false;
	}
	return true;
}

static bool completion(struct ping_end *end, DAT_EVD_HANDLE evd, const char *what)
{
	DAT_DTO_COMPLETION_STATUS status;
	DAT_EVENT event;

	if (!ping_event(end, evd, DAT_DTO_COMPLETION_EVENT, what, &event))
		return false;
	status = event.event_data.dto_completion_event_data.status;
	if (status != DAT_DTO_SUCCESS)
		cli_error("%s: completed with %s; 'datctl explain %s' tells what that means", what,
			  dto_status_name(status), dto_status_name(status));
	return status == DAT_DTO_SUCCESS;
}

/* ---------------------------------------------------------------------------------- transfers */

static const DAT_DTO_COOKIE no_cookie;

static DAT_LMR_TRIPLET mine(const struct ping_memory *m)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = m->local,
		.virtual_address = (DAT_VADDR)(uintptr_t)m->byte,
		.segment_length = m->size,
	};
}

static DAT_RMR_TRIPLET theirs(struct ping_place place)
{
	return (DAT_RMR_TRIPLET){
		.rmr_context = place.key,
		.REMOTE_ADDRESS = place.address,
		.segment_length = PING_REGION,
	};
}

bool ping_post_receive(struct ping_end *end)
{
	DAT_LMR_TRIPLET segment = mine(&end->in);

	return GOOD(dat_ep_post_recv, end->ep, 1, &segment, no_cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

#define NOTE_SIZE 40

bool ping_say(struct ping_end *end, enum ping_step step, struct ping_place place)
{
	DAT_LMR_TRIPLET segment = mine(&end->out);

	ping_fill(&end->out, NOTE_SIZE, step);
	ping_place_pack(end->out.byte, place);
	put64(end->out.byte + PING_PRIVATE, step);
	return GOOD(dat_ep_post_send, end->ep, 1, &segment, no_cookie,
		    DAT_COMPLETION_DEFAULT_FLAG);
}

bool ping_tell(struct ping_end *end, enum ping_step step, struct ping_place place)
{
	return ping_say(end, step, place) && completion(end, end->request_evd, "send");
}

/*
 * Takes the next message. The next receive is posted before the peer can know that this one is
 * complete.
 */
bool ping_hear(struct ping_end *end, enum ping_step expected, struct ping_place *place)
{
	struct ping_place unused;

	if (!completion(end, end->recv_evd, "receive") ||
	    !ping_check(&end->in, NOTE_SIZE, expected, "receive"))
		return false;
	if (!ping_place_unpack(end->in.byte, PING_PRIVATE, place != NULL ? place : &unused) ||
	    get64(end->in.byte + PING_PRIVATE) != expected) {
		cli_error(
			"receive: the peer is no 'datctl ping', or another version of it; use the "
			"same version on both hosts");
		return false;
	}
	return expected == PING_DONE || expected == PING_BYE || ping_post_receive(end);
}

bool ping_write(struct ping_end *end, struct ping_place place)
{
	DAT_LMR_TRIPLET segment = mine(&end->local);
	DAT_RMR_TRIPLET target = theirs(place);

	return GOOD(dat_ep_post_rdma_write, end->ep, 1, &segment, no_cookie, &target,
		    DAT_COMPLETION_DEFAULT_FLAG) &&
	       completion(end, end->request_evd, "RDMA write");
}

bool ping_read(struct ping_end *end, struct ping_place place)
{
	DAT_LMR_TRIPLET segment = mine(&end->local);
	DAT_RMR_TRIPLET source = theirs(place);

	return GOOD(dat_ep_post_rdma_read, end->ep, 1, &segment, no_cookie, &source,
		    DAT_COMPLETION_DEFAULT_FLAG) &&
	       completion(end, end->request_evd, "RDMA read");
}

bool ping_bind(struct ping_end *end, struct ping_place *place)
{
	DAT_LMR_TRIPLET segment = mine(&end->window);
	DAT_EVENT event;
	DAT_RETURN ret;

	*place = (struct ping_place){ 0, 0 };
	ret = API(dat_rmr_create)(end->pz, &end->rmr);
	if (ret != DAT_SUCCESS) {
		end->rmr = DAT_HANDLE_NULL;
		return DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED || ret == DAT_NOT_IMPLEMENTED ||
		       good(ret, "dat_rmr_create");
	}
	if (!GOOD(dat_rmr_bind, end->rmr, LMR_OF(end->window) &segment,
		  DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG, ADDRESSES end->ep,
		  no_cookie, DAT_COMPLETION_DEFAULT_FLAG, &place->key) ||
	    !ping_event(end, end->request_evd, DAT_RMR_BIND_COMPLETION_EVENT, "dat_rmr_bind",
			&event))
		return false;
	if (event.event_data.rmr_completion_event_data.status != DAT_RMR_BIND_SUCCESS) {
		cli_error("dat_rmr_bind: completed with %s",
			  dto_status_name(event.event_data.rmr_completion_event_data.status));
		return false;
	}
	place->address = segment.virtual_address;
	return true;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer target for the server's side of datperf's control protocol (datperf_ctl.c): an input is
 * what a client says, message after message, in the order in which the fields go over the wire.
 *
 * Invariant checked: whatever the client says, a test takes no more memory, endpoints and threads
 * than the server's limits allow, and what was created is destroyed. Links, lanes and regions are
 * stand-ins that count.
 */
#include <endian.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli.h"
#include "tools/datperf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEMAND(x) do { if (!(x)) abort(); } while (0)
#define LIMIT (64u << 20)

static struct {
	const uint8_t *data;
	size_t size;
	unsigned char in[64], out[64];
	uint64_t memory;	/* the sum over all links */
	unsigned int links;
} world;

int link_create(struct perf_link *l, struct perf_ia *ia, struct perf_link *watch,
		const struct link_shape *shape)
{
	memset(l, 0, sizeof(*l));
	l->ia = ia;
	l->watch = watch;
	l->ep = l;
	l->mem.size = shape->size;
	l->mem.slots = shape->slots;
	l->mem.length = 2 * shape->size * shape->slots;
	DEMAND(shape->slots > 0 && (shape->slots & (shape->slots - 1)) == 0);
	world.memory += l->mem.length;
	world.links++;
	DEMAND(world.memory <= LIMIT + 4096 && world.links <= PERF_MAX_EPS + 1);
	return 0;
}

void link_destroy(struct perf_link *l)
{
	if (l->ep != NULL) {
		world.memory -= l->mem.length;
		world.links--;
	}
	memset(l, 0, sizeof(*l));
}

int link_accept(struct perf_link *l, enum link_kind kind)
{
	(void)kind;
	l->connected = true;
	return 0;
}

/* Returns the next message of the client. At the end of the input the client has disconnected. */
DAT_RETURN (dat_evd_wait)(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			  DAT_EVENT *event, DAT_COUNT *more)
{
	(void)evd;
	(void)timeout;
	(void)threshold;
	memset(event, 0, sizeof(*event));
	*more = 0;
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	if (world.size < sizeof(world.in)) {
		event->event_data.dto_completion_event_data.status = DAT_DTO_ERR_FLUSHED;
		return DAT_SUCCESS;
	}
	memcpy(world.in, world.data, sizeof(world.in));
	world.data += sizeof(world.in);
	world.size -= sizeof(world.in);
	return DAT_SUCCESS;
}

unsigned char *region_in(const struct perf_region *mem, uint64_t index)
{
	(void)mem;
	(void)index;
	return world.in;
}

unsigned char *region_out(const struct perf_region *mem, uint64_t index)
{
	(void)mem;
	(void)index;
	return world.out;
}

/* Counts as datperf_data.c and datperf_ia.c do. */
uint64_t region_length(uint64_t size, uint32_t slots)
{
	return (2 * slots * ((size + 63) / 64 * 64) + PERF_CREDITS * PERF_CREDIT_SIZE + 4095) / 4096 *
	       4096;
}

uint64_t perf_need(const struct perf_spec *spec)
{
	return spec->eps * region_length(spec->size > 0 ? spec->size : 1, session_slots(spec));
}

int lanes_run(struct perf_session *s, struct perf_phase *phase,
	      int (*run)(struct perf_lane *lane, struct perf_phase *phase))
{
	(void)phase;
	(void)run;
	DEMAND(s->spec.threads >= 1 && s->spec.threads <= PERF_MAX_THREADS);
	DEMAND(s->spec.test < PERF_TESTS && s->spec.memory < PERF_MEMORIES);
	return 0;
}

int link_dto_failed(const DAT_EVENT *event, const char *what)
{
	(void)event;
	(void)what;
	return -1;
}

/* Functions of datperf that do nothing here. */
#define NOTHING(type, name, args, value) type name args { return value; }
#define UNUSED __attribute__((unused))
NOTHING(int, link_post_recv, (struct perf_link *l UNUSED, uint64_t i UNUSED), 0)
NOTHING(int, link_post, (struct perf_link *l UNUSED, enum perf_request op UNUSED, uint64_t i UNUSED,
			 bool last UNUSED), 0)
NOTHING(int, link_drain, (struct perf_link *l UNUSED), 0)
NOTHING(int, link_await_event, (struct perf_link *l UNUSED, DAT_EVENT_NUMBER e UNUSED,
				const char *(*remedy)(void) UNUSED, DAT_EVENT *event UNUSED), 0)
NOTHING(int, link_connect, (struct perf_link *l UNUSED, enum link_kind k UNUSED,
			    const struct sockaddr *a UNUSED), -1)
NOTHING(int, link_disconnect, (struct perf_link *l UNUSED), 0)
NOTHING(int, link_stuck, (struct perf_link *l UNUSED), -1)
NOTHING(int, link_over, (void), -1)
NOTHING(unsigned int, link_patience_s, (const struct perf_link *l UNUSED), 20)
NOTHING(int, perf_ia_fits, (const struct perf_ia *ia UNUSED, const struct perf_spec *s UNUSED), 0)
NOTHING(void, perf_ia_share_cpus, (struct perf_ia *ia UNUSED, uint32_t n UNUSED), )
NOTHING(void, lanes_lay_out, (struct perf_session *s UNUSED), )
NOTHING(void, lanes_begin, (struct perf_session *s UNUSED, const struct perf_phase *p UNUSED), )
NOTHING(void, lanes_end, (struct perf_session *s UNUSED), )
NOTHING(void, pattern_fill, (const struct perf_region *m UNUSED, bool f UNUSED, uint64_t g UNUSED,
			     uint64_t i UNUSED), )
NOTHING(void, pattern_poison, (const struct perf_region *m UNUSED, bool f UNUSED, uint64_t g UNUSED,
			       uint64_t i UNUSED), )
NOTHING(bool, pattern_verify, (const struct perf_region *m UNUSED, bool f UNUSED, uint64_t g UNUSED,
			       uint64_t l UNUSED, uint64_t i UNUSED), true)
NOTHING(struct perf_hist *, hist_create, (void), NULL)
NOTHING(void, hist_clear, (struct perf_hist *h UNUSED), )
NOTHING(void, hist_join, (struct perf_hist *h UNUSED, const struct perf_hist *o UNUSED), )
NOTHING(double, hist_quantile, (const struct perf_hist *h UNUSED, double q UNUSED), 0)
NOTHING(void, guest_silent, (const struct sockaddr *a UNUSED), )
NOTHING(void, guest_spent, (const struct sockaddr *a UNUSED, uint64_t ns UNUSED, uint64_t patience UNUSED), )
NOTHING(void, cli_quiet, (bool q UNUSED), )
#define METHOD(name) NOTHING(int, name, (struct perf_lane *l UNUSED, struct perf_phase *p UNUSED), 0)
METHOD(lat_send_client) METHOD(lat_send_server) METHOD(lat_write_client) METHOD(lat_write_server)
METHOD(lat_read_client) METHOD(lat_eager_client) METHOD(lat_eager_server) METHOD(bw_send_client)
METHOD(bw_send_server) METHOD(bw_send_both) METHOD(bw_write_client) METHOD(bw_read_client)
METHOD(rate_client) METHOD(rate_server)
NOTHING(uint64_t, eager_extent, (uint64_t size), size)
NOTHING(int, bw_post_recvs, (const struct perf_session *s UNUSED, struct perf_link *l UNUSED), 0)

void cli_error(const char *fmt UNUSED, ...)
{
}

void cli_dat_error(DAT_RETURN ret UNUSED, const char *remedy UNUSED, const char *fmt UNUSED, ...)
{
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_session *s = calloc(1, sizeof(*s));

	DEMAND(s);
	memset(&world, 0, sizeof(world));
	world.data = data;
	world.size = size;
	s->ia.server = true;
	s->ia.limit = LIMIT;
	s->ia.timeout_s = 20;
	s->deadline_s = 3600;
	(void)session_serve(s);
	session_free(s);
	DEMAND(world.links == 0 && world.memory == 0);
	free(s);
	return 0;
}

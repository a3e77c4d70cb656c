/* SPDX-License-Identifier: BSD-2-Clause */
/* A writer that is in the middle of a write, by what it leaves in its port. */
#include "writer.h"

#include <stdatomic.h>
#include <string.h>

#include "providers/soft/bound.h"
#include "providers/soft/recv.h"
#include "providers/soft/send.h"

#define AT_ONCE 1000u /* a call that does not wait takes less; a busy machine may take long */

struct api_pair pair, writer;
struct api_buf buf;
DAT_RMR_HANDLE rmr;
DAT_RMR_CONTEXT context;
DAT_LMR_TRIPLET where;
struct soft_ia *adapter;
uint64_t began;
uint64_t withheld_from;

static uint32_t writer_posted; /* requests that the tests have put into the queue of writer.a */

struct soft_ep *soft_of(const struct api_end *one)
{
	return soft_ep((struct datp_ep *)datp_object(one->ep, DATP_EP));
}

void bind_rmr(const struct api_end *over, uint64_t cookie)
{
	REQUIRE_DAT(dat_rmr_bind(rmr, &where, RIGHTS, over->ep, api_cookie(cookie), 0, &context), DAT_SUCCESS);
}

void open_rest(uint32_t patience_ms)
{
	api_pair_make(&writer, NULL);
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	api_pair_works(&writer, &buf);
	adapter = soft_ia(soft_of(&pair.b)->base.obj.ia);
	adapter->invalidable = true;
	adapter->patience_ms = patience_ms;
	where = api_seg(&buf, 0, 64);
	REQUIRE_DAT(dat_rmr_create(api.pz, &rmr), DAT_SUCCESS);
	bind_rmr(&pair.b, 3);
	API_BIND(pair.b.request, rmr, 3, DAT_RMR_BIND_SUCCESS);
}

void open_with(uint32_t patience_ms)
{
	api_open();
	api_pair_make(&pair, NULL);
	open_rest(patience_ms);
	/* the first message shows that there is a connection */
	api_pair_works(&pair, &buf);
}

void writer_posts(const struct soft_sqe *request, const struct datp_sge *seg)
{
	struct soft_ep *ep = soft_of(&writer.a);
	uint32_t posted = atomic_load(&ep->port->sq_posted);
	struct soft_sqe *e = soft_port_sqe(ep->port, &ep->layout, posted);

	*e = *request;
	if (seg)
		e->sge[0] = *seg;
	if (!ep->requests.slots)
		REQUIRE(soft_posted_alloc(&ep->requests) == DATP_OK);
	soft_request_keep(ep, posted, request->op, request->len, seg, seg != NULL);
	atomic_store(&ep->port->sq_posted, posted + 1);
	writer_posted++;
}

void writer_begins_with(DAT_RMR_CONTEXT into)
{
	const struct soft_sqe e = { .op = DATP_RDMA_WRITE, .n = 1, .len = 8, .remote = { into, 0, where.virtual_address, 8 } };
	const struct datp_sge seg = { buf.lmr_context, 0, where.virtual_address + 128, 8 };

	writer_posts(&e, &seg);
	atomic_fetch_or(&soft_of(&writer.a)->port->exec_lock, SOFT_EXEC_HELD);
}

void writer_begins(void)
{
	writer_begins_with(context);
}

void writer_ends(void)
{
	struct soft_ep *ep = soft_of(&writer.a);

	atomic_fetch_sub(&ep->port->sq_posted, writer_posted);
	writer_posted = 0;
	atomic_fetch_and(&ep->port->exec_lock, ~(uint64_t)(SOFT_EXEC_HELD | SOFT_EXEC_AGAIN));
}

void invalidation_arrives(void)
{
	struct soft_ep *from = soft_of(&pair.a), *to = soft_of(&pair.b);
	uint32_t msg = from->msg++;
	struct soft_desc *desc = soft_port_desc(to->port, &to->layout, to->layout.rq_base + msg);

	atomic_store(&adapter->mr[SOFT_MR_INDEX(context)].context, 0);
	desc->len = 8;
	desc->status = DAT_DTO_SUCCESS;
	desc->extra = SOFT_EXTRA_INVALIDATED;
	desc->rmr = context;
	desc->solicited = 0;
	atomic_store(&desc->state, SOFT_DESC_DONE);
	datp_lock(&to->base.lock);
	soft_recv_announce(to, msg + 1);
	datp_unlock(&to->base.lock);
}

bool writer_may_write(void)
{
	struct soft_ep *ep = soft_of(&writer.b);
	bool may;

	datp_lock(&ep->base.lock);
	may = atomic_load(&ep->port->open) != 0;
	datp_unlock(&ep->base.lock);
	return may;
}

void at_once(const char *what)
{
	uint64_t took = check_now_ms() - began;

	if (took >= AT_ONCE)
		CHECK_FAIL("it took %llu ms until %s", (unsigned long long)took, what);
	began = check_now_ms();
}

void nothing_comes(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	CHECK_DAT(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
}

void post_receives(uint64_t first, uint64_t last)
{
	for (uint64_t n = first; n <= last; n++)
		REQUIRE_DAT(api_recv(pair.b.ep, &buf, 4096, 4096, n), DAT_SUCCESS);
}

void service_goes_on(void)
{
	DAT_EVD_HANDLE connect = api_evd(8, DAT_EVD_CONNECTION_FLAG);
	DAT_EP_HANDLE ep;

	REQUIRE_DAT(dat_ep_create(api.ia, api.pz, pair.a.recv, pair.a.request, connect, NULL, &ep), DAT_SUCCESS);
	REQUIRE_DAT(dat_ep_connect(ep, api_address(), pair.qual, 10000, 0, NULL, DAT_QOS_BEST_EFFORT,
				   DAT_CONNECT_DEFAULT_FLAG),
		    DAT_SUCCESS);
	API_CONN(connect, ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	CHECK_DAT(dat_cr_reject(api_cr(pair.cr_evd)), DAT_SUCCESS);
}

void begin_withheld(void)
{
	writer_begins();
	began = withheld_from = check_now_ms();
	invalidation_arrives();
	nothing_comes(pair.b.recv);
	at_once("the dequeue returned");
}

void nobody_looks_in_time(struct soft_ep *ep, struct soft_wait *wait)
{
	datp_lock(&ep->base.lock);
	CHECK(wait->until);
	wait->last = false;
	__atomic_store_n(&wait->until, 1, __ATOMIC_RELAXED); /* the service thread reads it without the lock */
	began = check_now_ms();
	datp_unlock(&ep->base.lock);
}

void last_piece_was_awaited(void)
{
	CHECK(check_now_ms() - began >= soft_bound_rest(adapter));
	CHECK(!writer_may_write());
	API_CONN_OVER(writer.b.connect, writer.b.ep);
	writer_ends();
}

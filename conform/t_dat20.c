/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What DAT 2.0 has beside 1.2, or does in another way: arguments, events, return values, and what
 * programs of 2.0 depend on. t_dat20_ext.c has the attributes and the InfiniBand extensions,
 * t_dat20_rmr.c the posts that name an RMR, t_dat20_counters.c the counters.
 */
#define API_PLAIN
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kit.h"

#include <dat2/dat_ib_extensions.h>
#include <dat2/udat_redirection.h>

/* The call of 2.0, which has private data; all objects of these tests are in this process. */
#undef dat_cr_reject

#define SIZE	4096
#define DEFAULT DAT_COMPLETION_DEFAULT_FLAG

CLAUSE_BARE("D20-01")
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, asked = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR attr;

	CHECK_NUM(DAT_VERSION_MAJOR, 2);
	CHECK_NUM(DAT_VERSION_MINOR, 0);
	CHECK_NUM(DAT_THREADSAFE, DAT_FALSE);
	MUST_RET(dat_ia_openv((char *)t.ia_name, 8, &async, &ia, 2, 0, DAT_FALSE), DAT_SUCCESS);
	CHECK_THAT(async != DAT_HANDLE_NULL);
	CHECK_RET(dat_ia_query(ia, &asked, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr), DAT_SUCCESS);
	CHECK_THAT(asked == async);
	CHECK_NUM(attr.dapl_version_major, 2);
	CHECK_NUM(attr.dapl_version_minor, 0);
	CHECK_RET(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

/* Values that programs print or compare as a whole. */

CLAUSE("D20-02")
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	CHECK_NUM(dat_evd_wait(kit_evd(8, DAT_EVD_DTO_FLAG), 1000, 1, &event, &nmore),
		  DAT_TIMEOUT_EXPIRED);
}

CLAUSE("D20-03")
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	CHECK_NUM(dat_cno_wait(kit_cno(), 1000, &evd), DAT_QUEUE_EMPTY);
}

/* Attributes of endpoints that are smaller than what is posted. */

static void lay_small(struct kit_pair *p)
{
	DAT_EP_ATTR attr = kit_attr();

	attr.max_message_size = attr.max_rdma_size = 16;
	kit_pair(p, &attr);
}

static DAT_EP_ATTR attr_of(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	MUST_RET(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
	return param.ep_attr;
}

CLAUSE_EACH("D20-04")
{
	struct kit_buf from = kit_buf_a(SIZE, KIT_SINK), to = kit_buf_b(SIZE, KIT_REMOTE);
	struct kit_pair p;

	lay_small(&p);
	CHECK_NUM(attr_of(p.a.ep).max_rdma_size, 16);
	kit_buf_fill(&from, 0, SIZE, 1);
	MUST_RET(kit_write(p.a.ep, kit_seg(&from, 0, SIZE), kit_target(&to, 0, SIZE), 1, DEFAULT), DAT_SUCCESS);
	kit_dto(p.a.request, p.a.ep, 1, DAT_DTO_SUCCESS);
	CHECK_SOON(kit_buf_filled(&to, 0, SIZE, 1));
	kit_buf_fill(&to, 0, SIZE, 2);
	MUST_RET(kit_read(p.a.ep, kit_seg(&from, 0, SIZE), kit_target(&to, 0, SIZE), 2, DEFAULT), DAT_SUCCESS);
	kit_dto(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS);
	CHECK_THAT(kit_buf_filled(&from, 0, SIZE, 2));
}

CLAUSE_EACH("D20-05")
{
	struct kit_buf from = kit_buf_a(SIZE, KIT_LOCAL), to = kit_buf_b(SIZE, KIT_LOCAL);
	struct kit_pair p;

	lay_small(&p);
	CHECK_NUM(attr_of(p.a.ep).max_message_size, 16);
	kit_buf_fill(&from, 0, SIZE, 3);
	MUST_RET(kit_recv(p.b.ep, &to, 0, SIZE, 1), DAT_SUCCESS);
	MUST_RET(kit_send(p.a.ep, &from, 0, SIZE, 2, DEFAULT), DAT_SUCCESS);
	CHECK_NUM(kit_dto(p.b.recv, p.b.ep, 1, DAT_DTO_SUCCESS).transfered_length, SIZE);
	kit_dto(p.a.request, p.a.ep, 2, DAT_DTO_SUCCESS);
	CHECK_THAT(kit_buf_filled(&to, 0, SIZE, 3));
}

/* The end of a connection whose side b takes its receives from an SRQ. */
CLAUSE("D20-06")
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	DAT_EP_ATTR attr = kit_attr();
	struct kit_pair p;
	DAT_SRQ_HANDLE srq;
	DAT_EVENT event;

	NEEDS(t.prov.srq_supported, "srq_supported");
	kit_pair_unconnected(&p, NULL);
	MUST_RET(dat_srq_create(t.ia, t.pz, &srq_attr, &srq), DAT_SUCCESS);
	MUST_RET(dat_ep_create_with_srq(t.ia, t.pz, p.b.recv, p.b.request, p.b.connect, srq, &attr, &p.b.ep),
		 DAT_SUCCESS);
	kit_pair_connect(&p);
	kit_empty(t.async);
	MUST_RET(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	kit_over(p.b.connect, p.b.ep);
	event = kit_event(t.async);
	CHECK_NUM(event.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
	CHECK_THAT(event.event_data.asynch_error_event_data.dat_handle == p.b.ep);
	kit_quiet(t.async);	/* once, and not for the endpoint without an SRQ */
}

/* Flags and outputs. */

static DAT_RETURN region_of(const struct kit_buf *buf, int priv, DAT_VA_TYPE type, DAT_LMR_HANDLE *lmr,
			    DAT_LMR_CONTEXT *context)
{
	DAT_REGION_DESCRIPTION region = { .for_va = buf->mem };

	return dat_lmr_create(t.ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, t.pz, (DAT_MEM_PRIV_FLAGS)priv, type, lmr,
			      context, NULL, NULL, NULL);
}

CLAUSE("D20-07")
{
	struct kit_buf buf = kit_buf(SIZE, KIT_LOCAL);
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
	DAT_LMR_CONTEXT context;

	MUST_RET(region_of(&buf, (int)KIT_REMOTE | DAT_IB_MEM_PRIV_REMOTE_ATOMIC, DAT_VA_TYPE_VA, &lmr, &context),
		 DAT_SUCCESS);
	CHECK_RET(dat_lmr_free(lmr), DAT_SUCCESS);
}

CLAUSE("D20-08")
{
	DAT_EVD_FLAGS flags = (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_IB_EVD_EXTENSION_FLAG);
	DAT_EVD_HANDLE evd = kit_evd(8, flags);

	kit_empty(evd);
	CHECK_RET(dat_evd_free(evd), DAT_SUCCESS);
}

CLAUSE("D20-09")
{
	struct kit_buf buf = kit_buf(SIZE, KIT_LOCAL);
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
	DAT_LMR_PARAM param;

	MUST_RET(region_of(&buf, (int)KIT_REMOTE, DAT_VA_TYPE_VA, &lmr, NULL), DAT_SUCCESS);
	CHECK_RET(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_THAT(param.lmr_context != 0 && param.registered_size >= SIZE);
	CHECK_RET(dat_lmr_free(lmr), DAT_SUCCESS);
	CHECK_RET(region_of(&buf, (int)KIT_REMOTE, DAT_VA_TYPE_VA, NULL, NULL), DAT_INVALID_PARAMETER);
}

CLAUSE("D20-10")
{
	DAT_BOOLEAN idle = DAT_FALSE;
	DAT_EP_STATE state = DAT_EP_STATE_CONNECTED;
	struct kit_end end;

	kit_end(&end, NULL);
	CHECK_RET(dat_ep_get_status(end.ep, NULL, &idle, &idle), DAT_SUCCESS);
	CHECK_RET(dat_ep_get_status(end.ep, &state, NULL, NULL), DAT_SUCCESS);
	CHECK_NUM(state, DAT_EP_STATE_UNCONNECTED);
	CHECK_RET(dat_ep_get_status(end.ep, NULL, NULL, NULL), DAT_SUCCESS);
}

CLAUSE_BARE("D20-11")
{
	const char *major = NULL, *whole = NULL, *minor = NULL;

	CHECK_RET(dat_strerror(DAT_CLASS_ERROR | DAT_INVALID_HANDLE, &major, NULL), DAT_SUCCESS);
	CHECK_RET(dat_strerror(DAT_CLASS_ERROR | DAT_INVALID_HANDLE, &whole, &minor), DAT_SUCCESS);
	MUST(major && whole && minor);
	CHECK_THAT(!strcmp(major, whole));
}

CLAUSE_BARE("D20-28")
{
	static const DAT_RETURN types[] = { DAT_CONN_QUAL_UNAVAILABLE, DAT_RESERVED_LMR, DAT_PORT_IN_USE, DAT_COMM_NOT_SUPPORTED };
	const char *major, *minor, *before = "";

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		major = minor = NULL;
		CHECK_RET(dat_strerror(DAT_CLASS_ERROR | types[i], &major, &minor), DAT_SUCCESS);
		MUST(major && minor);
		CHECK_THAT(*major && strcmp(major, before) != 0);
		before = major;
	}
}

/* Connections. */

CLAUSE("D20-12")
{
	struct kit_pair p;
	DAT_EVENT event;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	kit_pair_unconnected(&p, NULL);
	MUST_RET(kit_connect_data(p.a.ep, p.qual, 5, "hello"), DAT_SUCCESS);
	event = kit_event(p.cr_evd);
	MUST_NUM(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
	CHECK_NUM(event.event_data.cr_arrival_event_data.truncate_flag, DAT_FALSE);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	/* test programs pass the mask of another kind of object, whose bits are among those of a request */
	memset(&param, 0, sizeof(param));
	CHECK_RET(dat_cr_query(cr, (DAT_CR_PARAM_MASK)DAT_CSP_FIELD_ALL, &param), DAT_SUCCESS);
	MUST(param.private_data && param.private_data_size >= 5);
	CHECK_THAT(!memcmp(param.private_data, "hello", 5));
	MUST_RET(dat_cr_accept(cr, p.b.ep, 0, NULL), DAT_SUCCESS);
}

/* A program answers with the private data that it got, in the memory in which it got them. */
CLAUSE("D20-13")
{
	struct kit_pair p;
	DAT_CONNECTION_EVENT_DATA *data;
	DAT_CR_PARAM param;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	kit_pair_unconnected(&p, NULL);
	MUST_RET(kit_connect_data(p.a.ep, p.qual, 5, "hello"), DAT_SUCCESS);
	cr = kit_cr(p.cr_evd);
	MUST_RET(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
	MUST(param.private_data && param.private_data_size >= 5);
	memcpy(param.private_data, "world", 5);
	MUST_RET(dat_cr_accept(cr, p.b.ep, 5, param.private_data), DAT_SUCCESS);
	event = kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	data = &event.event_data.connect_event_data;
	MUST(data->private_data && data->private_data_size >= 5);
	CHECK_THAT(!memcmp(data->private_data, "world", 5));
}

CLAUSE("D20-15")
{
	struct kit_pair p;
	DAT_CR_HANDLE cr;

	kit_pair_unconnected(&p, NULL);
	MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
	cr = kit_cr(p.cr_evd);
	CHECK_RET(dat_cr_reject(cr, -1, "no"), DAT_INVALID_PARAMETER);
	MUST_RET(dat_cr_accept(cr, p.b.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

CLAUSE("D20-14")
{
	struct kit_pair p;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;
	DAT_RETURN ret;

	kit_pair_unconnected(&p, NULL);
	MUST_RET(kit_connect(p.a.ep, p.qual), DAT_SUCCESS);
	cr = kit_cr(p.cr_evd);
	ret = dat_cr_reject(cr, 2, "no");
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_MODEL_NOT_SUPPORTED);
	if (ret != DAT_SUCCESS) {
		/* the request is still there */
		CHECK_RET(dat_cr_reject(cr, 0, NULL), DAT_SUCCESS);
		kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
		return;
	}
	event = kit_conn(p.a.connect, p.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	MUST(event.event_data.connect_event_data.private_data_size >= 2);
	CHECK_THAT(!memcmp(event.event_data.connect_event_data.private_data, "no", 2));
}

CLAUSE("D20-16")
{
	struct kit_end end;
	DAT_CONN_QUAL qual;

	NEEDS(!t.prov.supports_multipath, "supports_multipath");
	kit_psp(kit_evd(8, DAT_EVD_CR_FLAG), &qual);
	kit_end(&end, NULL);
	CHECK_RET(dat_ep_connect(end.ep, t.attr.ia_address_ptr, qual, kit_patience(), 0, NULL, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_MULTIPATH_REQUIRED_FLAG),
		  DAT_MODEL_NOT_SUPPORTED);
	CHECK_NUM(kit_state(end.ep), DAT_EP_STATE_UNCONNECTED);
}

/* Completions. */

static void want_done(struct kit_end *end, DAT_EVD_HANDLE evd, uint64_t cookie, DAT_DTOS operation)
{
	DAT_DTO_COMPLETION_EVENT_DATA data = kit_dto(evd, end->ep, cookie, DAT_DTO_SUCCESS);

	CHECK_NUM(data.operation, operation);
	CHECK_NUM(data.rmr_context, 0);
}

CLAUSE_EACH("D20-17")
{
	struct kit_buf here = kit_buf_a(SIZE, KIT_SINK), there = kit_buf_b(SIZE, KIT_REMOTE);
	struct kit_pair p;

	kit_pair(&p, NULL);
	MUST_RET(kit_recv(p.b.ep, &there, 0, 64, 1), DAT_SUCCESS);
	MUST_RET(kit_send(p.a.ep, &here, 0, 64, 2, DEFAULT), DAT_SUCCESS);
	want_done(&p.b, p.b.recv, 1, DAT_DTO_RECEIVE);
	want_done(&p.a, p.a.request, 2, DAT_DTO_SEND);
	MUST_RET(kit_write(p.a.ep, kit_seg(&here, 0, 64), kit_target(&there, 0, 64), 3, DEFAULT), DAT_SUCCESS);
	want_done(&p.a, p.a.request, 3, DAT_DTO_RDMA_WRITE);
	MUST_RET(kit_read(p.a.ep, kit_seg(&here, 0, 64), kit_target(&there, 0, 64), 4, DEFAULT), DAT_SUCCESS);
	want_done(&p.a, p.a.request, 4, DAT_DTO_RDMA_READ);
}

/* Memory. */

CLAUSE("D20-18", "D20-19")
{
	struct kit_buf buf = kit_buf(SIZE, KIT_LOCAL);
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
	DAT_LMR_CONTEXT context;
	DAT_RETURN ret;

	ABOUT("D20-18");
	ret = region_of(&buf, (int)KIT_REMOTE, DAT_VA_TYPE_ZB, &lmr, &context);
	if (t.attr.zb_supported)
		CHECK_RET(ret, DAT_SUCCESS);
	else
		CHECK_NUM(DAT_GET_TYPE(ret), DAT_GET_TYPE(DAT_NOT_IMPLEMENTED));
	ABOUT("D20-19");
	CHECK_RET(region_of(&buf, (int)KIT_REMOTE, (DAT_VA_TYPE)7, &lmr, &context), DAT_INVALID_PARAMETER);
}

CLAUSE("D20-20")
{
	struct kit_buf buf = kit_buf(SIZE, KIT_REMOTE);
	DAT_LMR_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	CHECK_RET(dat_lmr_query(buf.lmr, DAT_LMR_FIELD_VA_TYPE, &param), DAT_SUCCESS);
	CHECK_NUM(param.va_type, DAT_VA_TYPE_VA);
}

/* Binds a window to one end of a connection. */
static struct {
	struct kit_pair p;
	struct kit_buf one, other;
	DAT_RMR_HANDLE rmr;
} w;

static DAT_RETURN bind_rmr(DAT_LMR_HANDLE lmr, const struct kit_buf *buf, size_t length, uint64_t cookie)
{
	DAT_LMR_TRIPLET segment = kit_seg(buf, 0, length);
	DAT_RMR_CONTEXT context;

	return dat_rmr_bind(w.rmr, lmr, &segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_VA_TYPE_VA, w.p.a.ep,
			    kit_cookie(cookie), DEFAULT, &context);
}

static void lay_windows(void)
{
	NEEDS(t.attr.max_rmrs > 0, "max_rmrs");
	MUST_RET(dat_rmr_create(t.pz, &w.rmr), DAT_SUCCESS);
	w.one = kit_buf(SIZE, KIT_REMOTE);
	w.other = kit_buf(SIZE, KIT_REMOTE);
	kit_pair(&w.p, NULL);
}

static void want_bound(uint64_t cookie)
{
	DAT_EVENT event = kit_event(w.p.a.request);

	CHECK_NUM(event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	CHECK_NUM(event.event_data.rmr_completion_event_data.user_cookie.as_64, cookie);
	CHECK_NUM(event.event_data.rmr_completion_event_data.status, DAT_RMR_BIND_SUCCESS);
}

CLAUSE("D20-21", "D20-22", "D20-23")
{
	DAT_RMR_PARAM param;

	lay_windows();
	ABOUT("D20-21");
	CHECK_REFUSED(bind_rmr(w.other.lmr, &w.one, 64, 1));
	CHECK_RET(bind_rmr(DAT_HANDLE_NULL, &w.one, 64, 2), DAT_INVALID_HANDLE);
	MUST_RET(bind_rmr(w.one.lmr, &w.one, 64, 3), DAT_SUCCESS);
	want_bound(3);
	ABOUT("D20-23");
	memset(&param, 0xa5, sizeof(param));
	CHECK_RET(dat_rmr_query(w.rmr, DAT_RMR_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_NUM(param.va_type, DAT_VA_TYPE_VA);
	CHECK_NUM(param.rmr_scope, DAT_RMR_SCOPE_PZ);
	ABOUT("D20-22");
	MUST_RET(bind_rmr(DAT_HANDLE_NULL, &w.one, 0, 4), DAT_SUCCESS);
	want_bound(4);
	CHECK_RET(dat_lmr_free(w.one.lmr), DAT_SUCCESS);	/* no window holds it */
}

/* CNOs, and calls that a provider need not have. */

static void agent_func(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	(void)instance;
	(void)evd;
}

CLAUSE("D20-24")
{
	DAT_OS_WAIT_PROXY_AGENT agent = { .instance_data = &agent, .proxy_agent_func = agent_func };
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
	DAT_CNO_PARAM param;

	MUST_RET(dat_cno_create(t.ia, agent, &cno), DAT_SUCCESS);
	memset(&param, 0xa5, sizeof(param));
	CHECK_RET(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param), DAT_SUCCESS);
	CHECK_THAT(param.ia_handle == t.ia);
	MUST_NUM(param.proxy_type, DAT_PROXY_TYPE_AGENT);
	CHECK_THAT(param.proxy.agent.instance_data == &agent && param.proxy.agent.proxy_agent_func == agent_func);
}

/* No library has functions for these calls, so they are made through the table, whose slots are never empty. */
CLAUSE("D20-25")
{
	const struct dat_provider *table = DAT_HANDLE_TO_PROVIDER(t.pz);
	struct kit_buf buf = kit_buf(SIZE, KIT_LOCAL);
	DAT_LMR_TRIPLET segment = kit_seg(&buf, 0, 64);
	DAT_RMR_TRIPLET target = kit_target(&buf, 0, 64);
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_HANDLE made;
	struct kit_end end;

	kit_end(&end, NULL);
	CHECK_REFUSED(table->ep_common_connect_func(end.ep, t.attr.ia_address_ptr, 1000, 0, NULL));
	/* whoever has the next two refuses them, because there is no connection */
	CHECK_THAT(table->ep_post_send_with_invalidate_func(end.ep, 1, &segment, kit_cookie(1), DEFAULT, DAT_TRUE, 1) !=
		   DAT_SUCCESS);
	CHECK_THAT(table->ep_post_rdma_read_to_rmr_func(end.ep, &target, kit_cookie(1), &target, DEFAULT) != DAT_SUCCESS);
	if (!(t.prov.rmr_scope_supported & DAT_RMR_SCOPE_EP))
		CHECK_REFUSED(table->rmr_create_for_ep_func(t.pz, &made));
	CHECK_REFUSED(table->cno_trigger_func(kit_cno(), &evd));	/* there is no trigger in any case */
}

static bool is_readable(int fd)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };

	return poll(&one, 1, 0) == 1;
}

/* OFED's library has no function for this call, and a program that names it would not start there. */
CLAUSE("D20-27")
{
	const struct dat_provider *table = DAT_HANDLE_TO_PROVIDER(t.pz);
	DAT_RETURN (*create)(DAT_IA_HANDLE, DAT_FD *, DAT_CNO_HANDLE *) =
		(__typeof__(create))dlsym(RTLD_DEFAULT, "dat_cno_fd_create");
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
	DAT_EVD_HANDLE evd, hint = DAT_HANDLE_NULL;
	DAT_RETURN ret;
	DAT_FD fd = -1;

	NEEDS(create != NULL, "the library has no dat_cno_fd_create()");
	ret = create(t.ia, &fd, &cno);
	NEEDS(DAT_GET_TYPE(ret) != DAT_MODEL_NOT_SUPPORTED, "dat_cno_fd_create: DAT_MODEL_NOT_SUPPORTED");
	MUST_RET(ret, DAT_SUCCESS);
	evd = kit_evd_cno(8, DAT_EVD_SOFTWARE_FLAG, cno);
	CHECK_THAT(!is_readable(fd));
	CHECK_NUM(table->cno_trigger_func(cno, &hint), DAT_QUEUE_EMPTY);
	MUST_RET(kit_post_se(evd, 1), DAT_SUCCESS);
	CHECK_SOON(is_readable(fd));
	CHECK_RET(table->cno_trigger_func(cno, &hint), DAT_SUCCESS);
	CHECK_THAT(hint == evd);
	kit_se(evd, 1);
	CHECK_NUM(table->cno_trigger_func(cno, &hint), DAT_QUEUE_EMPTY);
	CHECK_THAT(!is_readable(fd));
}

/* Whether a descriptor of this process has got anything. */
static bool is_untouched(int fd)
{
	fflush(NULL);
	return lseek(fd, 0, SEEK_END) == 0;
}

CLAUSE("D20-29")
{
	for (int i = 0; i < 2; i++) {
		DAT_CONNECTION_EVENT_DATA data;
		DAT_EP_HANDLE freed;
		struct kit_pair p;
		DAT_EVENT event;

		kit_pair(&p, NULL);
		MUST_RET(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		for (int ms = 0; kit_state(p.b.ep) != DAT_EP_STATE_DISCONNECTED && ms < 10000; ms++)
			usleep(1000);
		/* a provider may queue the event a moment after the state has changed */
		usleep(20000);
		freed = p.b.ep;
		MUST_RET(dat_ep_free(p.b.ep), DAT_SUCCESS);
		event = kit_event(p.b.connect);
		data = event.event_data.connect_event_data;
		CHECK_NUM(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
		CHECK_THAT(data.ep_handle == freed);
		CHECK_NUM(data.private_data_size, 0);
		kit_empty(p.b.connect);
	}
}

CLAUSE("D20-35")
{
	struct kit_pair p;
	DAT_EVENT event;

	kit_pair(&p, NULL);
	MUST_RET(dat_ep_free(p.b.ep), DAT_SUCCESS);
	event = kit_event(p.b.connect);
	CHECK_NUM(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK_THAT(event.event_data.connect_event_data.ep_handle == p.b.ep);
	kit_empty(p.b.connect);
	MUST_NUM(kit_event(p.a.connect).event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
}

CLAUSE("D20-63")
{
	DAT_EVD_HANDLE others = kit_evd_at(kit_open_another(), 8, DAT_EVD_CONNECTION_FLAG, DAT_HANDLE_NULL);
	DAT_EP_ATTR attr = kit_attr();
	struct kit_pair p;

	kit_pair_unconnected(&p, NULL);
	MUST_RET(dat_ep_free(p.a.ep), DAT_SUCCESS);
	MUST_RET(dat_ep_create(t.ia, t.pz, p.a.recv, p.a.request, others, &attr, &p.a.ep), DAT_SUCCESS);
	p.a.connect = others;
	kit_pair_connect(&p);
	kit_disconnect(&p);
	MUST_RET(dat_ep_free(p.a.ep), DAT_SUCCESS);
	CHECK_RET(dat_evd_free(others), DAT_SUCCESS);
}

CLAUSE_BARE("D20-26")
{
	int said = memfd_create("said", 0);
	struct kit_pair p;

	MUST(said >= 0 && dup2(said, STDOUT_FILENO) >= 0);
	kit_open();
	kit_pair(&p, NULL);
	kit_exchange(&p.a, &p.b);
	CHECK_RET(dat_pz_free(p.a.ep), DAT_INVALID_HANDLE);
	kit_disconnect(&p);
	MUST_RET(dat_ia_close(t.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	t.ia = DAT_HANDLE_NULL;
	CHECK_THAT(is_untouched(said));
}

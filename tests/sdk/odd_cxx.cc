/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin written in C++17, and with -DCXX_WRAPPER a wrapper: they open and close, and no more. What
 * is shown is that the headers, and the macros that make the entry points, are C++ as well.
 */
#ifdef CXX_WRAPPER
#include <datp/wrap.h>

namespace
{
bool before(struct datp_wrap *, struct datp_wrap_call *)
{
	return true;
}

datp_wrap_ops make_ops()
{
	datp_wrap_ops ops{};

	ops.before = before;
	return ops;
}

const datp_wrap_ops wrap_ops = make_ops();
} // namespace

DATP_WRAPPER("cxx", wrap_ops)
#else
#include <cstdio>
#include <netinet/in.h>
#include <datp/bias.h>
#include <datp/provider.h>

namespace
{
/* The public head is the first member of what is ours. */
struct ep {
	datp_ep base;
	datp_bias bias;
};

/* A class that derives from a head instead has its fields behind the head, not in its padding. */
template <class head> struct derived : head {
	char first;
};
static_assert(sizeof(derived<datp_ep>) > sizeof(datp_ep));
static_assert(sizeof(derived<datp_evd>) > sizeof(datp_evd));
static_assert(sizeof(derived<datp_srq>) > sizeof(datp_srq));
static_assert(sizeof(derived<datp_lmr>) > sizeof(datp_lmr));
static_assert(sizeof(derived<datp_rmr>) > sizeof(datp_rmr));
static_assert(sizeof(derived<datp_pz>) > sizeof(datp_pz));
static_assert(sizeof(derived<datp_sp>) > sizeof(datp_sp));
static_assert(sizeof(derived<datp_cr>) > sizeof(datp_cr));
static_assert(sizeof(derived<datp_ia>) > sizeof(datp_ia));

datp_err ia_open(datp_ia *ia, const char *)
{
	sockaddr_in *in = reinterpret_cast<sockaddr_in *>(&ia->address);

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return DATP_OK;
}

void ia_query(datp_ia *, datp_ia_attr *attr)
{
	*attr = datp_ia_attr{};
	std::snprintf(attr->adapter_name, sizeof(attr->adapter_name), "cxx");
	attr->max_evds = attr->max_pzs = attr->max_eps = attr->max_lmrs = 16;
	attr->max_evd_qlen = attr->max_dto_per_ep = 1024;
	attr->max_rdma_read_per_ep_in = attr->max_rdma_read_per_ep_out = 1;
	attr->max_iov_per_dto = attr->max_iov_per_rdma_read = attr->max_iov_per_rdma_write = 1;
	attr->max_lmr_block = attr->max_lmr_address = UINT64_MAX;
	attr->max_message_size = attr->max_rdma_size = 4096;
	attr->max_private_data = attr->optimal_alignment = 64;
}

datp_err rdma(datp_ep *, datp_wqe *, const datp_sge *, int, const datp_rge *)
{
	return DATP_ERR_CREDITS;
}

datp_err post(datp_ep *, datp_wqe *, const datp_sge *, int)
{
	return DATP_ERR_CREDITS;
}

datp_ops make_ops()
{
	datp_ops ops{};

	ops.ep_size = DATP_SIZE(ep, base, datp_ep);
	ops.evd_size = sizeof(datp_evd);
	ops.ia_open = ia_open;
	ops.ia_close = [](datp_ia *) {};
	ops.ia_query = ia_query;
	ops.lmr_create = [](datp_lmr *, const void *) { return DATP_ERR_BAD_MEMORY; };
	ops.lmr_free = [](datp_lmr *) {};
	ops.lmr_find = [](datp_ia *, uint32_t) -> datp_lmr * { return nullptr; };
	ops.evd_poll = [](datp_evd *, datp_completion *, int) { return 0; };
	ops.ep_create = [](datp_ep *) { return DATP_ERR_TEP; };
	ops.ep_free = [](datp_ep *) {};
	ops.post_send = ops.post_recv = post;
	ops.post_rdma_write = ops.post_rdma_read = rdma;
	ops.sp_listen = [](datp_sp *) { return DATP_ERR_QUAL_UNAVAILABLE; };
	ops.sp_close = [](datp_sp *) {};
	ops.ep_connect = [](datp_ep *, const datp_conn_param *) {
		return DATP_ERR_ADDRESS_UNREACHABLE;
	};
	ops.cr_accept = [](datp_cr *, datp_ep *, const void *, uint32_t) { return DATP_ERR_ABORT; };
	ops.cr_reject = ops.cr_free = [](datp_cr *) {};
	ops.ep_disconnect = [](datp_ep *, datp_close) {};
	return ops;
}

const datp_ops plugin_ops = make_ops();
} // namespace

DATP_PROVIDER("cxx", plugin_ops)
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_extension_op(): the calls of the InfiniBand extensions of DAT 2.0. A call that is not served is
 * refused at once, before its arguments are looked at. The registry has turned an IA's number into its
 * object, and has checked that the handle is an object of a live provider; for a query, which needs no
 * open adapter, the handle is the adapter's name.
 */
#include "dat20.h"
#include "providers/common/core/extend.h"
#include "providers/common/dat12/dat12.h"

/* ------------------------------------------------------------------ queries */

/* acquire: the table of an object is complete before the object has its address */
static const struct dat20_provider *table_of(DAT_HANDLE handle)
{
	return __atomic_load_n((const struct dat20_provider *const *)handle, __ATOMIC_ACQUIRE);
}

/*
 * Reads the attributes of an adapter that the program has not opened. The adapter is open from here
 * to dat20_query_close(), because the attributes come from its device, and the named ones are valid only while it is open.
 */
DAT_RETURN dat20_query_open(DAT20_IA_OPEN_FUNC open, const DAT_NAME_PTR name, va_list args)
{
	DAT_HANDLE *handle = va_arg(args, DAT_HANDLE *);
	DAT20_IA_ATTR_MASK ia_mask = va_arg(args, DAT20_IA_ATTR_MASK);
	DAT20_IA_ATTR *ia_attr = va_arg(args, DAT20_IA_ATTR *);
	DAT20_PROVIDER_ATTR_MASK provider_mask = va_arg(args, DAT20_PROVIDER_ATTR_MASK);
	DAT20_PROVIDER_ATTR *provider_attr = va_arg(args, DAT20_PROVIDER_ATTR *);
	/* not DAT_EVD_ASYNC_EXISTS, which another project's provider beneath a wrapper may not know */
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	if (!handle)
		return dat20_arg(4);
	ret = open(name, 1, &async, &ia);
	if (ret != DAT_SUCCESS)
		return ret;
	/* no other thread knows this handle yet */
	ret = table_of(ia)->ia_query_func(ia, NULL, ia_mask, ia_attr, provider_mask, provider_attr);
	if (ret != DAT_SUCCESS) {
		(void)dat20_query_close(ia);
		/* the arguments of dat_ia_query() come two positions later in this call */
		return DAT_GET_TYPE(ret) == DAT20_INVALID_PARAMETER ? ret + 2 : ret;
	}
	*handle = ia;
	return DAT_SUCCESS;
}

DAT_RETURN dat20_query_close(DAT_HANDLE handle)
{
	const struct dat20_provider *table = table_of(handle);

	/* since the registry has checked the handle, another thread may have closed the same query: then the word is NULL */
	if (!table)
		return dat20_ret(datp_ret(DATP_ERR_HANDLE));
	return table->ia_close_func(handle, DAT_CLOSE_ABRUPT_FLAG);
}

/* ------------------------------------------------------------------ posts */

static DAT_RETURN write_immed(struct datp_ep *ep, va_list args)
{
	static const struct dat20_positions at = { .count = 3, .segments = 4, .target = 6, .flags = 8 };
	DAT_LMR_TRIPLET local[DAT20_IOV_MAX];
	struct ext_post post = { .op = DATP_WRITE_IMM };
	const DAT20_LMR_TRIPLET *iov;
	struct datp_rge remote;
	uint64_t bytes = 0;
	DAT_RETURN ret;

	post.n = va_arg(args, DAT_COUNT);
	iov = va_arg(args, const DAT20_LMR_TRIPLET *);
	post.cookie = va_arg(args, DAT_DTO_COOKIE);
	post.remote = dat20_remote(va_arg(args, const DAT20_RMR_TRIPLET *), &remote);
	post.imm = va_arg(args, DAT_UINT32);
	post.flags = (unsigned int)va_arg(args, DAT20_COMPLETION_FLAGS);
	if (post.n > DAT20_IOV_MAX)
		return dat20_arg(at.count);
	for (int i = 0; iov && i < post.n; i++) {
		local[i] = dat20_segment(&iov[i]);
		bytes += iov[i].segment_length;
	}
	/* the layouts are equal, which <datp/provider_post.h> asserts */
	post.iov = iov ? (const struct datp_sge *)local : NULL;
	ret = dat20_post_ret(ext_post(ep, &post), at);
	if (ret == DAT_SUCCESS)
		dat20_counters_posted(ep, DAT20_IB_RDMA_WRITE_IMMED_OP, bytes);
	return ret;
}

static DAT_RETURN atomic(struct datp_ep *ep, enum datp_ext_op op, va_list args)
{
	static const struct dat20_positions swap_at = { .segments = 5, .target = 7, .flags = 8 };
	static const struct dat20_positions add_at = { .segments = 4, .target = 6, .flags = 7 };
	struct ext_post post = { .op = op, .n = 1 };
	const DAT20_LMR_TRIPLET *sink;
	struct datp_rge remote;
	DAT_LMR_TRIPLET local;
	DAT_RETURN ret;

	post.atomic.operand = va_arg(args, DAT_UINT64);
	if (op == DATP_CMP_SWAP)
		post.atomic.swap = va_arg(args, DAT_UINT64);
	sink = va_arg(args, const DAT20_LMR_TRIPLET *);
	post.cookie = va_arg(args, DAT_DTO_COOKIE);
	post.remote = dat20_remote(va_arg(args, const DAT20_RMR_TRIPLET *), &remote);
	post.flags = (unsigned int)va_arg(args, DAT20_COMPLETION_FLAGS);
	if (sink)
		local = dat20_segment(sink);
	post.iov = sink ? (const struct datp_sge *)&local : NULL;
	ret = dat20_post_ret(ext_post(ep, &post), op == DATP_CMP_SWAP ? swap_at : add_at);
	if (ret == DAT_SUCCESS)
		dat20_counters_posted(ep, op == DATP_CMP_SWAP ? DAT20_IB_CMP_AND_SWAP_OP : DAT20_IB_FETCH_AND_ADD_OP, 0);
	return ret;
}

/* Posts what the adapter supports; anything else is not implemented. */
static DAT_RETURN transfer(DAT_HANDLE handle, DAT20_EXTENDED_OP op, va_list args)
{
	struct datp_ep *ep = obj_get(NULL, handle, DATP_EP);
	const struct datp_ext_attr *ext;

	if (!ep)
		return dat20_ret(datp_ret(DATP_ERR_HANDLE_EP));
	ext = &ia_priv(ep->obj.ia)->ext;
	if (op == DAT20_IB_RDMA_WRITE_IMMED_OP ? !ext->write_imm : !ext->atomics)
		return dat20_error(DAT20_NOT_IMPLEMENTED);
	if (op == DAT20_IB_RDMA_WRITE_IMMED_OP)
		return write_immed(ep, args);
	return atomic(ep, op == DAT20_IB_CMP_AND_SWAP_OP ? DATP_CMP_SWAP : DATP_FETCH_ADD, args);
}

/* ------------------------------------------------------------------ the slot */

/* `nth` is the number of the registration whose table the slot is in. */
static DAT_RETURN extended(uint32_t nth, DAT_HANDLE handle, DAT20_EXTENDED_OP op, va_list args)
{
	switch (op) {
	case DAT20_IB_OPEN_QUERY_OP:
		return dat20_query_open(dat20_ia_opener(nth), (DAT_NAME_PTR)handle, args);
	case DAT20_IB_CLOSE_QUERY_OP:
		return dat20_query_close(handle);
	case DAT20_IB_QUERY_COUNTERS_OP:
		return dat20_counters_query(handle, args);
	case DAT20_IB_PRINT_COUNTERS_OP:
		return dat20_counters_print(handle, args);
	case DAT20_IB_RDMA_WRITE_IMMED_OP:
	case DAT20_IB_CMP_AND_SWAP_OP:
	case DAT20_IB_FETCH_AND_ADD_OP:
		return transfer(handle, op, args);
	default:
		return dat20_error(DAT20_NOT_IMPLEMENTED);
	}
}

/* Each registration of a name has a function of its own, as for opening. */
#define X(nth)											\
	static DAT_RETURN extended_##nth(DAT_HANDLE handle, DAT20_EXTENDED_OP op, va_list args)	\
	{											\
		return extended(nth, handle, op, args);						\
	}
DAT12_NTHS(X)
#undef X

DAT20_HANDLE_EXTENDEDOP_FUNC dat20_extender(struct plugin *plugin)
{
#define X(nth) extended_##nth,
	static const DAT20_HANDLE_EXTENDEDOP_FUNC functions[] = { DAT12_NTHS(X) };
#undef X
	_Static_assert(sizeof(functions) / sizeof(functions[0]) == PLUGIN_NTHS, "one for each");
	return functions[plugin->nth];
}

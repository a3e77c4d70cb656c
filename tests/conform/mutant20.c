/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between datconform and libdat2.so.2: breaks one rule of DAT 2.0 on purpose, that of the variable
 * MUTANT20. It is preloaded, so each function here takes the place of the one of libdat2 of the same
 * name, which it calls. Each rule is followed by a clause that has to turn red (mutants20.sh).
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/udat_redirection.h>

#define REFUSED(type) ((DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)(type))
#define TYPE(ret)     DAT_GET_TYPE(ret)

static int breaks(const char *rule)
{
	const char *broken = getenv("MUTANT20");

	return broken && !strcmp(broken, rule);
}

/* The function of libdat2 with the name of the function that calls this. */
#define NEXT ((__typeof__(&FUNCTION))next(NAME(FUNCTION)))
#define NAME(function)	NAME_(function)
#define NAME_(function) #function

static void *next(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		abort();
	return function;
}

/* ------------------------------------------------------------------ events */

static void bend_extension(DAT_EVENT *event)
{
	DAT_IB_EXTENSION_EVENT_DATA data;

	memcpy(&data, event->event_extension_data, sizeof(data));
	if (breaks("immediate_swapped"))
		data.val.immed.data = __builtin_bswap32(data.val.immed.data);
	if (breaks("extension_untyped"))
		data.type = DAT_IB_UD_SEND;
	if (breaks("atomics_unchecked")) {
		data.status = DAT_OP_SUCCESS;
		event->event_data.dto_completion_event_data.status = DAT_DTO_SUCCESS;
	}
	memcpy(event->event_extension_data, &data, sizeof(data));
	if (breaks("extension_length"))
		event->event_data.dto_completion_event_data.transfered_length = 64;
	if (breaks("extension_is_ordinary"))
		event->event_number = DAT_DTO_COMPLETION_EVENT;
}

static void bend(DAT_EVENT *event)
{
	switch ((int)event->event_number) {
	case DAT_IB_DTO_EVENT: bend_extension(event); break;
	case DAT_DTO_COMPLETION_EVENT:
		if (breaks("operation_unset"))
			event->event_data.dto_completion_event_data.operation = (DAT_DTOS)0x55;
		if (breaks("cookie_cut"))
			event->event_data.dto_completion_event_data.user_cookie.as_64 &= 0xffffffff;
		if (breaks("context_unset"))
			event->event_data.dto_completion_event_data.rmr_context = 0xa5a5a5a5;
		if (breaks("invalidation_untold") &&
		    event->event_data.dto_completion_event_data.operation == DAT_DTO_RECEIVE_WITH_INVALIDATE)
			event->event_data.dto_completion_event_data.operation = DAT_DTO_RECEIVE;
		if (breaks("faults_untold"))
			event->event_data.dto_completion_event_data.status = DAT_DTO_SUCCESS;
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		if (breaks("truncated"))
			event->event_data.cr_arrival_event_data.truncate_flag = DAT_TRUE;
		break;
	case DAT_ASYNC_ERROR_EP_BROKEN:
		if (breaks("broken_is_another"))
			event->event_data.asynch_error_event_data.dat_handle = event->evd_handle;
		break;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		if (breaks("peer_is_non_peer"))
			event->event_number = DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
		break;
	default: break;
	}
	if (breaks("event_without_evd"))
		event->evd_handle = DAT_HANDLE_NULL;
}

#define FUNCTION dat_evd_dequeue
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_RETURN ret = NEXT(evd, event);

	if (ret == DAT_SUCCESS)
		bend(event);
	return TYPE(ret) == DAT_QUEUE_EMPTY && breaks("empty_has_class") ? REFUSED(DAT_QUEUE_EMPTY) : ret;
}
#undef FUNCTION

#define FUNCTION dat_evd_wait
DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold, DAT_EVENT *event, DAT_COUNT *nmore)
{
	DAT_RETURN ret = NEXT(evd, timeout, threshold, event, nmore);

	while (ret == DAT_SUCCESS && event->event_number == DAT_ASYNC_ERROR_EP_BROKEN && breaks("broken_untold"))
		ret = NEXT(evd, timeout, threshold, event, nmore);
	if (ret == DAT_SUCCESS) {
		bend(event);
		if (breaks("nmore_zero"))
			*nmore = 0;
	}
	if (TYPE(ret) == DAT_TIMEOUT_EXPIRED && breaks("wait_has_class"))
		ret = REFUSED(DAT_TIMEOUT_EXPIRED);
	return ret;
}
#undef FUNCTION

#define FUNCTION dat_cno_wait
DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd)
{
	DAT_RETURN ret = NEXT(cno, timeout, evd);

	return TYPE(ret) == DAT_QUEUE_EMPTY && breaks("cno_has_class") ? REFUSED(DAT_QUEUE_EMPTY) : ret;
}
#undef FUNCTION

#define FUNCTION dat_evd_create
DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	if (((int)flags & DAT_IB_EVD_EXTENSION_FLAG) && breaks("extension_flag"))
		return REFUSED(DAT_INVALID_PARAMETER);
	return NEXT(ia, qlen, cno, flags, evd);
}
#undef FUNCTION

/* ------------------------------------------------------------------ endpoints and connections */

#define FUNCTION dat_ep_query
DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	DAT_RETURN ret = NEXT(ep, mask, param);

	if (ret == DAT_SUCCESS && breaks("sizes_are_limits"))
		param->ep_attr.max_message_size = param->ep_attr.max_rdma_size = UINT32_MAX;
	return ret;
}
#undef FUNCTION

#define FUNCTION dat_ep_get_status
DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	if (breaks("status_needs_all") && !(state && recv_idle && request_idle))
		return REFUSED(DAT_INVALID_PARAMETER);
	return NEXT(ep, state, recv_idle, request_idle);
}
#undef FUNCTION

#define FUNCTION dat_ep_post_send
DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	if (n && iov->segment_length > 1024 && breaks("message_limited"))
		return REFUSED(DAT_LENGTH_ERROR);
	return NEXT(ep, n, iov, cookie, flags);
}
#undef FUNCTION

#define FUNCTION dat_ep_post_rdma_write
DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				  const DAT_RMR_TRIPLET *target, DAT_COMPLETION_FLAGS flags)
{
	if (n && iov->segment_length > 1024 && breaks("rdma_limited"))
		return REFUSED(DAT_LENGTH_ERROR);
	return NEXT(ep, n, iov, cookie, target, flags);
}
#undef FUNCTION

#define FUNCTION dat_ep_connect
DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout, DAT_COUNT size,
			  const DAT_PVOID data, DAT_QOS qos, DAT_CONNECT_FLAGS flags)
{
	return NEXT(ep, address, qual, timeout, size, data, qos, breaks("multipath_taken") ? DAT_CONNECT_DEFAULT_FLAG : flags);
}
#undef FUNCTION

static int is_of(DAT_EVD_HANDLE evd, DAT_IA_HANDLE ia)
{
	DAT_EVD_PARAM param = { .ia_handle = ia };

	if (evd)
		((__typeof__(&dat_evd_query))next("dat_evd_query"))(evd, DAT_EVD_FIELD_ALL, &param);
	return param.ia_handle == ia;
}

#define FUNCTION dat_ep_create
DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
			 const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	DAT_RETURN ret;

	if (breaks("prints"))
		puts("an endpoint");
	if (breaks("evd_of_another_refused") && !is_of(connect, ia))
		return REFUSED(DAT_INVALID_HANDLE);
	ret = NEXT(ia, pz, recv, request, connect, attr, ep);
	return ret != DAT_SUCCESS && breaks("refusal_not_implemented") ? REFUSED(DAT_NOT_IMPLEMENTED) : ret;
}
#undef FUNCTION

/* "event_goes": takes what is queued about connections, so that the program does not find it. */
#define FUNCTION dat_ep_free
DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param = { 0 };
	DAT_EVENT event;
	DAT_RETURN ret;

	if (breaks("event_goes"))
		dat_ep_query(ep, DAT_EP_FIELD_ALL, &param);
	ret = NEXT(ep);
	while (param.connect_evd_handle && dat_evd_dequeue(param.connect_evd_handle, &event) == DAT_SUCCESS)
		;
	return ret;
}
#undef FUNCTION

#define FUNCTION dat_cr_query
DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	DAT_RETURN ret;
	void *kept;

	if ((int)mask == DAT_CSP_FIELD_ALL && breaks("mask_of_its_own"))
		return REFUSED(DAT_INVALID_PARAMETER);
	ret = NEXT(cr, mask, param);
	if (ret != DAT_SUCCESS || !breaks("data_read_only"))
		return ret;
	kept = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(kept, param->private_data, (size_t)param->private_data_size);
	mprotect(kept, 4096, PROT_READ);
	param->private_data = kept;
	return ret;
}
#undef FUNCTION

#define FUNCTION dat_cr_reject
DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr, DAT_COUNT size, const DAT_PVOID data)
{
	if (size > 0 && breaks("reject_without_data"))
		return NEXT(cr, 0, NULL);
	if (size > 0 && breaks("refused_reject_rejects")) {
		NEXT(cr, 0, NULL);
		return REFUSED(DAT_MODEL_NOT_SUPPORTED);
	}
	if (breaks("cr_reject_nothing"))
		return DAT_SUCCESS;
	if (size < 0 && breaks("negative_size_taken"))
		return DAT_SUCCESS;
	return NEXT(cr, size, data);
}
#undef FUNCTION

/* ------------------------------------------------------------------ memory */

#define FUNCTION dat_lmr_create
DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN length, DAT_PZ_HANDLE pz,
			  DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context,
			  DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *size, DAT_VADDR *address)
{
	if (((int)priv & DAT_IB_MEM_PRIV_REMOTE_ATOMIC) && breaks("atomic_right"))
		return REFUSED(DAT_INVALID_PARAMETER);
	if (!context && breaks("outputs_needed"))
		return REFUSED(DAT_INVALID_PARAMETER);
	if (va_type == DAT_VA_TYPE_ZB && breaks("zero_based_taken"))
		va_type = DAT_VA_TYPE_VA;
	if ((int)va_type == 7 && breaks("address_type_unchecked"))
		va_type = DAT_VA_TYPE_VA;
	return NEXT(ia, type, region, length, pz, priv, va_type, lmr, context, rmr_context, size, address);
}
#undef FUNCTION

#define FUNCTION dat_lmr_query
DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param)
{
	DAT_RETURN ret = NEXT(lmr, mask, param);

	if (ret == DAT_SUCCESS && breaks("region_without_pz"))
		param->pz_handle = DAT_HANDLE_NULL;
	if (ret == DAT_SUCCESS && breaks("region_is_zero_based"))
		param->va_type = DAT_VA_TYPE_ZB;
	return ret;
}
#undef FUNCTION

#define FUNCTION dat_rmr_create
DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	return breaks("rmr_refused") ? REFUSED(DAT_INSUFFICIENT_RESOURCES) : NEXT(pz, rmr);
}
#undef FUNCTION

#define FUNCTION dat_rmr_query
DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
	DAT_RETURN ret = NEXT(rmr, mask, param);

	if (ret == DAT_SUCCESS && breaks("rmr_of_endpoint"))
		param->rmr_scope = DAT_RMR_SCOPE_EP;
	return ret;
}
#undef FUNCTION

#define FUNCTION dat_rmr_bind
DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *segment, DAT_MEM_PRIV_FLAGS priv,
			DAT_VA_TYPE va_type, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			DAT_RMR_CONTEXT *context)
{
	DAT_RETURN ret;

	if (!lmr && breaks("unbind_needs_handle"))
		return REFUSED(DAT_INVALID_HANDLE);
	ret = NEXT(rmr, lmr, segment, priv, va_type, ep, cookie, flags, context);
	return ret != DAT_SUCCESS && breaks("handle_unchecked") ? DAT_SUCCESS : ret;
}
#undef FUNCTION

/* ------------------------------------------------------------------ the adapter */

static void bend_names(DAT_PROVIDER_ATTR *attr)
{
	for (DAT_COUNT i = 0; i < attr->num_provider_specific_attr; i++) {
		DAT_NAMED_ATTR *named = &attr->provider_specific_attr[i];

		if (!strcmp(named->name, "DAT_IB_GID") && breaks("named_is_null"))
			named->value = NULL;
		if (!strcmp(named->name, "DAT_IB_TRANSPORT_MTU") && breaks("mtu_in_words"))
			named->value = (char *)(uintptr_t)"4K";
		if (!strcmp(named->name, "DAT_IB_RDMA_READ") && breaks("reads_not_promised"))
			named->value = (char *)(uintptr_t)"FALSE";
		if (!strcmp(named->name, DAT_IB_ATTR_COUNTERS) && breaks("counters_untold"))
			named->value = (char *)(uintptr_t)"FALSE";
	}
}

#define FUNCTION dat_ia_query
DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async, DAT_IA_ATTR_MASK mask, DAT_IA_ATTR *attr,
			DAT_PROVIDER_ATTR_MASK provider_mask, DAT_PROVIDER_ATTR *provider)
{
	DAT_RETURN ret = NEXT(ia, async, mask, attr, provider_mask, provider);

	if (ret != DAT_SUCCESS)
		return ret;
	if (provider_mask && provider) {
		bend_names(provider);
		if (breaks("version_of_1"))
			provider->dapl_version_major = 1;
	}
	if (mask && attr && (breaks("extension_not_told") || breaks("extension_unpromised")))
		attr->extension_supported = DAT_EXTENSION_NONE;
	return ret;
}
#undef FUNCTION

#define FUNCTION dat_cno_query
DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
	DAT_RETURN ret = NEXT(cno, mask, param);

	if (ret == DAT_SUCCESS && breaks("cno_without_proxy"))
		param->proxy_type = DAT_PROXY_TYPE_NONE;
	return ret;
}
#undef FUNCTION

#define FUNCTION dat_strerror
DAT_RETURN dat_strerror(DAT_RETURN value, const char **major, const char **minor)
{
	if (TYPE(value) > DAT_CONN_QUAL_UNAVAILABLE && breaks("texts_of_1"))
		return REFUSED(DAT_INVALID_PARAMETER);
	return !minor && breaks("minor_needed") ? REFUSED(DAT_INVALID_PARAMETER) : NEXT(value, major, minor);
}
#undef FUNCTION

static DAT_RETURN trigger_none(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd)
{
	(void)cno;
	(void)evd;
	return DAT_QUEUE_EMPTY;
}

/* The functions of the table whose places those below take. */
static DAT_EP_POST_SEND_WITH_INVALIDATE_FUNC send_with_invalidate;
static DAT_EP_POST_RDMA_READ_TO_RMR_FUNC read_to_rmr;

static DAT_RETURN bent_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags, DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT context)
{
	if (breaks("invalidates_never"))
		invalidate = DAT_FALSE;
	if (breaks("invalidates_always"))
		invalidate = DAT_TRUE;
	return send_with_invalidate(ep, n, iov, cookie, flags, invalidate, context);
}

/* "reads_beside" reads into the place before the right one, "reads_less" what fits. */
static DAT_RETURN bent_read(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *sink, DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *from,
			    DAT_COMPLETION_FLAGS flags)
{
	DAT_RMR_TRIPLET to = *sink, source = *from;

	if (breaks("reads_beside"))
		to.virtual_address--;
	if (breaks("reads_less"))
		to.segment_length = source.segment_length = 99;
	return read_to_rmr(ep, &to, cookie, &source, flags);
}

static void bend_rmr_posts(DAT_PROVIDER *table)
{
	if (table->ep_post_send_with_invalidate_func == bent_send)
		return;
	send_with_invalidate = table->ep_post_send_with_invalidate_func;
	read_to_rmr = table->ep_post_rdma_read_to_rmr_func;
	table->ep_post_send_with_invalidate_func = bent_send;
	table->ep_post_rdma_read_to_rmr_func = bent_read;
}

#define FUNCTION dat_pz_create
DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	DAT_RETURN ret = NEXT(ia, pz);

	if (ret == DAT_SUCCESS && breaks("slot_is_empty"))
		DAT_HANDLE_TO_PROVIDER(*pz)->ep_common_connect_func = NULL;
	if (ret == DAT_SUCCESS && breaks("trigger_untold"))
		DAT_HANDLE_TO_PROVIDER(*pz)->cno_trigger_func = trigger_none;
	if (ret == DAT_SUCCESS)
		bend_rmr_posts(DAT_HANDLE_TO_PROVIDER(*pz));
	return ret;
}
#undef FUNCTION

/* Bends the arguments of a call about the counters. Returns false if the call is not made; it succeeds then. */
static int bend_counters(DAT_EXTENDED_OP op, DAT_UINT64 *word)
{
	if ((int)op == DAT_IB_PRINT_COUNTERS_OP) {
		if (breaks("print_keeps"))
			word[1] = 0;
		return !breaks("prints_nothing");
	}
	if (breaks("reset_ignored"))
		word[2] = 0;
	return (int)word[0] <= DCNT_IA_ALL_COUNTERS || !breaks("counter_unchecked");
}

/* Bends what a query of the counters has read. */
static void bend_count(DAT_HANDLE handle, const DAT_UINT64 *word)
{
	DAT_UINT64 *value = (DAT_UINT64 *)(uintptr_t)word[1], all[DCNT_IA_ALL_COUNTERS];
	DAT_HANDLE_TYPE type = DAT_HANDLE_TYPE_PZ;
	int counter = (int)word[0];

	((__typeof__(&dat_get_handle_type))next("dat_get_handle_type"))(handle, &type);
	if (type == DAT_HANDLE_TYPE_EP && counter == DCNT_EP_CONNECT && breaks("both_connect"))
		*value = 1;
	if (type == DAT_HANDLE_TYPE_EVD && counter == DCNT_EVD_ALL_COUNTERS && breaks("array_is_longer"))
		value[counter] = 0;
	if (type != DAT_HANDLE_TYPE_IA)
		return;
	if (counter == DCNT_IA_PZ_FREE && breaks("counter_stands"))
		*value = 0;
	if (counter == DCNT_IA_ALL_COUNTERS && breaks("array_is_shorter"))
		memset(&value[1], 0xa5, (size_t)(counter - 1) * sizeof(*value));
	if (counter != DCNT_IA_ALL_COUNTERS && word[2] && breaks("reset_takes_all"))
		dat_ib_query_counters(handle, DCNT_IA_ALL_COUNTERS, all, 1);
}

/* The extensions' calls have at most six arguments, and each is passed as a word. */
#define FUNCTION dat_extension_op
DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, ...)
{
	DAT_UINT64 word[7];
	DAT_RETURN ret;
	va_list args;

	va_start(args, op);
	for (int i = 0; i < 7; i++)
		word[i] = va_arg(args, DAT_UINT64);
	va_end(args);
	if (breaks("unknown_is_done") && (int)op == 0x7ff)
		return DAT_SUCCESS;
	if ((int)op == DAT_IB_RDMA_WRITE_IMMED_OP && breaks("extension_unsuppressed"))
		word[5] = DAT_COMPLETION_DEFAULT_FLAG;
	if ((int)op == DAT_IB_CMP_AND_SWAP_OP && breaks("swap_never"))
		word[0] = ~word[0];
	if ((int)op == DAT_IB_CMP_AND_SWAP_OP && breaks("swap_always"))
		word[0] = *(DAT_UINT64 *)(uintptr_t)((DAT_RMR_TRIPLET *)(uintptr_t)word[4])->virtual_address;
	if ((int)op == DAT_IB_FETCH_AND_ADD_OP && breaks("adds_twice"))
		word[0] *= 2;
	if (((int)op == DAT_IB_QUERY_COUNTERS_OP || (int)op == DAT_IB_PRINT_COUNTERS_OP) && !bend_counters(op, word))
		return DAT_SUCCESS;
	ret = NEXT(handle, op, word[0], word[1], word[2], word[3], word[4], word[5], word[6]);
	if ((int)op == DAT_IB_QUERY_COUNTERS_OP && ret == DAT_SUCCESS)
		bend_count(handle, word);
	if ((int)op == DAT_IB_OPEN_QUERY_OP && ret == DAT_SUCCESS && breaks("query_is_empty"))
		memset((void *)(uintptr_t)word[3], 0, sizeof(DAT_IA_ATTR));
	return ret;
}
#undef FUNCTION

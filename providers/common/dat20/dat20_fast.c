/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data path in the table of DAT 2.0: a plugin's own functions if it has any, else those of this edge. The types of
 * <datp/fast20.h>, which plugins know, meet those of the edge here: they have the same layouts.
 */
#include "dat20.h"
#include "providers/common/base/sdk.h"

_Static_assert(sizeof(struct datp_sge20) == sizeof(DAT20_LMR_TRIPLET) &&
		       offsetof(struct datp_sge20, addr) == offsetof(DAT20_LMR_TRIPLET, virtual_address) &&
		       offsetof(struct datp_sge20, len) == offsetof(DAT20_LMR_TRIPLET, segment_length) &&
		       offsetof(struct datp_sge20, lmr_context) == offsetof(DAT20_LMR_TRIPLET, lmr_context),
	       "a local segment of 2.0 is passed as it is");
_Static_assert(sizeof(struct datp_rge20) == sizeof(DAT20_RMR_TRIPLET) &&
		       offsetof(struct datp_rge20, addr) == offsetof(DAT20_RMR_TRIPLET, virtual_address) &&
		       offsetof(struct datp_rge20, len) == offsetof(DAT20_RMR_TRIPLET, segment_length) &&
		       offsetof(struct datp_rge20, rmr_context) == offsetof(DAT20_RMR_TRIPLET, rmr_context),
	       "a remote segment of 2.0 is passed as it is");

#define DTO(field) offsetof(DAT20_EVENT, event_data.dto_completion_event_data.field)
_Static_assert(offsetof(struct datp_event20, number) == offsetof(DAT20_EVENT, event_number) &&
		       offsetof(struct datp_event20, evd) == offsetof(DAT20_EVENT, evd_handle) &&
		       offsetof(struct datp_event20, ep) == DTO(ep_handle) &&
		       offsetof(struct datp_event20, cookie) == DTO(user_cookie) &&
		       offsetof(struct datp_event20, status) == DTO(status) &&
		       offsetof(struct datp_event20, len) == DTO(transfered_length) &&
		       offsetof(struct datp_event20, operation) == DTO(operation) &&
		       offsetof(struct datp_event20, rmr_context) == DTO(rmr_context) &&
		       sizeof(struct datp_event20) <= sizeof(DAT20_EVENT),
	       "a plugin writes the beginning of an event of 2.0");
_Static_assert((int)DAT20_DTO_SEND == (int)DATP_DTO20_SEND && (int)DAT20_DTO_RECEIVE == (int)DATP_DTO20_RECV &&
		       (int)DAT20_DTO_RDMA_WRITE == (int)DATP_DTO20_RDMA_WRITE &&
		       (int)DAT20_DTO_RDMA_READ == (int)DATP_DTO20_RDMA_READ && (int)DATP_SEND == 0 && (int)DATP_RECV == 1 &&
		       (int)DATP_RDMA_WRITE == 2 && (int)DATP_RDMA_READ == 3 &&
		       (int)DAT20_DTO_COMPLETION_EVENT == (int)DAT_DTO_COMPLETION_EVENT &&
		       (int)DAT20_QUEUE_EMPTY == (int)DAT_QUEUE_EMPTY,
	       "events of 2.0 name the operation");

/* The program's list is not const, because the standard's prototype is not. */
static DAT20_LMR_TRIPLET *list(const struct datp_sge20 *iov)
{
	return (DAT20_LMR_TRIPLET *)(uintptr_t)iov;
}

DATP_API DAT_RETURN datp_send20(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov, DAT_DTO_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags)
{
	return dat20_ep_post_send(ep, n, list(iov), cookie, (DAT20_COMPLETION_FLAGS)flags);
}

DATP_API DAT_RETURN datp_recv20(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov, DAT_DTO_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags)
{
	return dat20_ep_post_recv(ep, n, list(iov), cookie, (DAT20_COMPLETION_FLAGS)flags);
}

DATP_API DAT_RETURN datp_read20(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov, DAT_DTO_COOKIE cookie,
				const struct datp_rge20 *target, DAT_COMPLETION_FLAGS flags)
{
	return dat20_ep_post_rdma_read(ep, n, list(iov), cookie, (const DAT20_RMR_TRIPLET *)target,
				       (DAT20_COMPLETION_FLAGS)flags);
}

DATP_API DAT_RETURN datp_write20(DAT_EP_HANDLE ep, DAT_COUNT n, const struct datp_sge20 *iov, DAT_DTO_COOKIE cookie,
				 const struct datp_rge20 *target, DAT_COMPLETION_FLAGS flags)
{
	return dat20_ep_post_rdma_write(ep, n, list(iov), cookie, (const DAT20_RMR_TRIPLET *)target,
					(DAT20_COMPLETION_FLAGS)flags);
}

DATP_API DAT_RETURN datp_dequeue20(DAT_EVD_HANDLE evd, struct datp_event20 *event)
{
	return dat20_evd_dequeue(evd, (DAT20_EVENT *)event);
}

DATP_API DAT_RETURN datp_ret20(DAT_RETURN ret)
{
	return dat20_ret(ret);
}

void dat20_fast_fill(const struct datp_plugin *desc, struct dat20_provider *table)
{
	const struct datp_fast20 *fast;
	const int debug = 4;

	/* The functions for 1.2, to which this edge's lead, say at level debug why a post is refused. */
	if (!sdk_since(desc->sdk_major, desc->sdk_minor, 8) || !desc->fast20 || log_wanted(debug))
		return;
	fast = desc->fast20;
	/* the types differ in name alone */
	table->ep_post_send_func = (DAT20_EP_POST_SEND_FUNC)fast->post_send;
	table->ep_post_recv_func = (DAT20_EP_POST_RECV_FUNC)fast->post_recv;
	table->ep_post_rdma_read_func = (DAT20_EP_POST_RDMA_READ_FUNC)fast->post_rdma_read;
	table->ep_post_rdma_write_func = (DAT20_EP_POST_RDMA_WRITE_FUNC)fast->post_rdma_write;
	table->evd_dequeue_func = (DAT20_EVD_DEQUEUE_FUNC)fast->evd_dequeue;
}

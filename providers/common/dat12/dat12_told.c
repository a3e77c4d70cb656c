/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a refused post says at level debug: which post, and what was wrong with it. An adapter that is
 * registered while somebody wants such messages has these functions in its table, in front of the
 * plugin's own; any other has the plugin's own there, so no post costs an instruction for it.
 */
#include <stdio.h>
#include <string.h>

#include "dat12.h"
#include "providers/common/core/ep.h"
#include "providers/common/core/tell.h"

/* One post, as the program asked for it. */
struct told {
	const char *name;
	enum datp_op op;
	struct datp_ep *ep;
	int n;
	const struct datp_sge *iov;
	const struct datp_rge *remote;
	unsigned int flags;
};

/* The error that a return value stands for. */
static enum datp_err err_of(DAT_RETURN ret)
{
	int err = DATP_OK;

	while (err < DATP_ERR_COUNT && datp_ret((enum datp_err)err) != ret)
		err++;
	return err < DATP_ERR_COUNT ? (enum datp_err)err : DATP_ERR_INTERNAL;
}

/* What a local segment lacks; NULL if a region covers it. The IA lock is taken. */
static const char *segment_fault(const struct told *post, const struct datp_sge *seg)
{
	struct ia_priv *ia = ia_priv(post->ep->obj.ia);
	bool write = post->op == DATP_RECV || post->op == DATP_RDMA_READ;
	const char *fault = "no region of this adapter has that lmr_context";

	datp_lock(&ia->lock);
	for (struct datp_obj *obj = ia->live[DATP_LMR].first; obj; obj = obj_next(obj)) {
		const struct datp_lmr *lmr = (const struct datp_lmr *)obj;

		if (lmr->lmr_context != seg->lmr_context)
			continue;
		if (lmr->pz != post->ep->pz)
			fault = "its region is in another protection zone than the endpoint";
		else if (seg->addr < lmr->addr || seg->len > lmr->len ||
			 seg->addr - lmr->addr > lmr->len - seg->len)
			fault = "it reaches beyond its region";
		else if (write && !(lmr->priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
			fault = "its region lacks DAT_MEM_PRIV_LOCAL_WRITE_FLAG";
		else
			fault = NULL;
		break;
	}
	datp_unlock(&ia->lock);
	return fault;
}

/* The first segment that no region covers, if that is what the post was refused for. */
static void segments_text(const struct told *post, char *text, size_t size)
{
	for (int i = 0; i < post->n; i++) {
		const struct datp_sge *seg = &post->iov[i];
		const char *fault = segment_fault(post, seg);

		if (!fault)
			continue;
		snprintf(text, size, "segment %d (lmr_context 0x%x, %llu bytes at 0x%llx): %s", i,
			 seg->lmr_context, (unsigned long long)seg->len, (unsigned long long)seg->addr,
			 fault);
		return;
	}
}

static void length_text(const struct told *post, uint64_t len, char *text, size_t size)
{
	const struct datp_ep_attr *attr = &post->ep->attr;

	if (post->remote)
		snprintf(text, size,
			 "%llu bytes here, %llu there; the two have to fit, and the endpoint's "
			 "max_rdma_size is %llu",
			 (unsigned long long)len, (unsigned long long)post->remote->len,
			 (unsigned long long)attr->max_rdma_size);
	else
		snprintf(text, size,
			 "%llu bytes; the endpoint's max_message_size (max_mtu_size) is %llu",
			 (unsigned long long)len, (unsigned long long)attr->max_message_size);
}

/* What was wrong, as far as it can be said of the arguments. */
static void why(const struct told *post, enum datp_err err, char *text, size_t size)
{
	uint64_t len = 0;
	enum datp_err check = datp_post_check(post->ep, post->iov, post->n, post->remote, post->flags,
					      post->op, &len);

	snprintf(text, size, "see the description of the call");
	if (check == DATP_ERR_BAD_COUNT)
		snprintf(text, size, "%d segments; the endpoint takes 0 to %d", post->n,
			 datp_post_max_iov(post->ep, post->op));
	else if (check == DATP_ERR_PARAM)
		snprintf(text, size,
			 "completion flags 0x%x do not fit the operation, or the endpoint's own flags",
			 post->flags);
	else if (check == DATP_ERR_BAD_SEGMENTS && !post->iov)
		snprintf(text, size, "%d segments, and their list is NULL", post->n);
	else if (check == DATP_ERR_BAD_SEGMENTS || check == DATP_ERR_LENGTH)
		length_text(post, len, text, size);
	else if (check == DATP_ERR_BAD_TARGET)
		snprintf(text, size, "there is no remote segment");
	else if (post->op == DATP_RECV && post->ep->srq)
		snprintf(text, size, "the endpoint takes its receives from an SRQ");
	else if (err == DATP_ERR_CREDITS)
		snprintf(text, size,
			 "the queue holds no more (max_recv_dtos %d, max_request_dtos %d) until "
			 "completions are taken, or the device has no memory for it",
			 (int)post->ep->attr.max_recv_dtos, (int)post->ep->attr.max_request_dtos);
	else
		segments_text(post, text, size);
}

/* Once for each endpoint, operation and cause: programs may try again and again. */
static DAT_RETURN tell(const struct told *post, DAT_RETURN ret)
{
	struct {
		const struct datp_ep *ep;
		uint64_t op, ret;
	} key = { post->ep, (uint64_t)post->op, ret };
	enum datp_err err = err_of(ret);
	char text[256];

	if (!log_once("post", &key, sizeof(key)))
		return ret;
	why(post, err, text, sizeof(text));
	core_log(4, "%s: %s on the endpoint %p is refused (0x%x %s): %s", post->ep->obj.ia->name,
		 post->name, (void *)post->ep, ret, err_name(err), text);
	return ret;
}

/* A handle that is no endpoint has no plugin whose function could be called. */
static struct datp_ep *known(DAT_EP_HANDLE handle, const char *name)
{
	struct datp_ep *ep = obj_get(NULL, handle, DATP_EP);

	if (!ep)
		core_log(4, "core: %s: %p is no endpoint, or has been freed", name, handle);
	return ep;
}

static const struct datp_fast *fast_of(struct datp_ep *ep)
{
	return &ia_priv(ep->obj.ia)->plugin->desc->fast;
}

#define TOLD(ep_, op_, name_, n_, iov_, remote_, flags_)                                           \
	(&(struct told){ .name = (name_), .op = (op_), .ep = (ep_), .n = (n_),                     \
			 .iov = (const struct datp_sge *)(iov_),                                   \
			 .remote = (const struct datp_rge *)(remote_),                             \
			 .flags = (unsigned int)(flags_) })

static DAT_RETURN told_send(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	static const char name[] = "dat_ep_post_send";
	struct datp_ep *ep = known(handle, name);
	DAT_RETURN ret = ep ? fast_of(ep)->post_send(handle, n, iov, cookie, flags) :
			      datp_ret(DATP_ERR_HANDLE_EP);

	return ep && ret ? tell(TOLD(ep, DATP_SEND, name, n, iov, NULL, flags), ret) : ret;
}

static DAT_RETURN told_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	static const char name[] = "dat_ep_post_recv";
	struct datp_ep *ep = known(handle, name);
	DAT_RETURN ret = ep ? fast_of(ep)->post_recv(handle, n, iov, cookie, flags) :
			      datp_ret(DATP_ERR_HANDLE_EP);

	return ep && ret ? tell(TOLD(ep, DATP_RECV, name, n, iov, NULL, flags), ret) : ret;
}

static DAT_RETURN told_read(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
			    DAT_COMPLETION_FLAGS flags)
{
	static const char name[] = "dat_ep_post_rdma_read";
	struct datp_ep *ep = known(handle, name);
	DAT_RETURN ret = ep ? fast_of(ep)->post_rdma_read(handle, n, iov, cookie, remote, flags) :
			      datp_ret(DATP_ERR_HANDLE_EP);

	return ep && ret ? tell(TOLD(ep, DATP_RDMA_READ, name, n, iov, remote, flags), ret) : ret;
}

static DAT_RETURN told_write(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
			     DAT_COMPLETION_FLAGS flags)
{
	static const char name[] = "dat_ep_post_rdma_write";
	struct datp_ep *ep = known(handle, name);
	DAT_RETURN ret = ep ? fast_of(ep)->post_rdma_write(handle, n, iov, cookie, remote, flags) :
			      datp_ret(DATP_ERR_HANDLE_EP);

	return ep && ret ? tell(TOLD(ep, DATP_RDMA_WRITE, name, n, iov, remote, flags), ret) : ret;
}

void dat12_told_fill(DAT_PROVIDER *table)
{
	const int debug = 4;

	if (!log_wanted(debug))
		return;
	table->ep_post_send_func = told_send;
	table->ep_post_recv_func = told_recv;
	table->ep_post_rdma_read_func = told_read;
	table->ep_post_rdma_write_func = told_write;
}

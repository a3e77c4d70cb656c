/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logs at level debug why a post, a receive of an SRQ or a bind was refused: which one, and what
 * was wrong. If such messages are enabled when an adapter is registered, its table has these
 * functions in front of the plugin's own; otherwise it has the plugin's own, so no post costs an
 * instruction for this. Invariant: each cause is logged once for each object and call, because
 * programs may try again and again.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dat12.h"
#include "providers/common/core/diag.h"
#include "providers/common/core/ep.h"

/* A post, with the program's arguments. */
struct post {
	const char *name;
	enum datp_op op;
	struct datp_ep *ep;
	int n;
	const struct datp_sge *iov;
	const struct datp_rge *remote;
	unsigned int flags;
};

/* Returns the error that a return value stands for. */
static enum datp_err err_of(DAT_RETURN ret)
{
	int err = DATP_OK;

	while (err < DATP_ERR_COUNT && datp_ret((enum datp_err)err) != ret)
		err++;
	return err < DATP_ERR_COUNT ? (enum datp_err)err : DATP_ERR_INTERNAL;
}

static const char beyond_region[] = "it reaches beyond its region";

/*
 * Returns what is wrong with a local segment, as a string that stands for the cause; NULL if a
 * region covers it. Sets *region to the range of its region, if it has one. `write`: the operation
 * writes to it. Takes the IA lock.
 */
static const char *segment_fault(struct datp_ia *of, const struct datp_pz *pz, bool write,
				 const struct datp_sge *seg, struct datp_sge *region)
{
	struct ia_priv *ia = ia_priv(of);
	const char *fault = "no region of this adapter has that lmr_context";

	datp_lock(&ia->lock);
	for (struct datp_obj *obj = ia->live[DATP_LMR].first; obj; obj = obj_next(obj)) {
		const struct datp_lmr *lmr = (const struct datp_lmr *)obj;

		if (lmr->lmr_context != seg->lmr_context)
			continue;
		region->addr = lmr->addr;
		region->len = lmr->len;
		if (lmr->pz != pz)
			fault = "its region is in another protection zone";
		else if (seg->addr < lmr->addr || seg->len > lmr->len ||
			 seg->addr - lmr->addr > lmr->len - seg->len)
			fault = beyond_region;
		else if (write && !(lmr->priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
			fault = "its region lacks DAT_MEM_PRIV_LOCAL_WRITE_FLAG";
		else
			fault = NULL;
		break;
	}
	datp_unlock(&ia->lock);
	return fault;
}

/* Appends where the region is that a segment reaches beyond, and by how many bytes before its beginning and after its end. */
static void beyond_append(char *text, size_t size, const struct datp_sge *seg, const struct datp_sge *region)
{
	size_t at = strlen(text);
	uint64_t before = seg->addr < region->addr ? region->addr - seg->addr : 0;
	uint64_t left = before ? region->len + before : region->len - (seg->addr - region->addr);
	uint64_t after = seg->len > left ? seg->len - left : 0;

	if (!before && seg->addr - region->addr > region->len)
		snprintf(text + at, size - at, " (%llu bytes at 0x%llx), and begins %llu bytes behind it",
			 (unsigned long long)region->len, (unsigned long long)region->addr,
			 (unsigned long long)(seg->addr - region->addr - region->len));
	else
		snprintf(text + at, size - at, " (%llu bytes at 0x%llx), by %llu bytes at its beginning and %llu at its end",
			 (unsigned long long)region->len, (unsigned long long)region->addr,
			 (unsigned long long)before, (unsigned long long)after);
}

/*
 * Finds the first segment that no region covers, if the call was refused for that. Returns the
 * cause, or NULL.
 */
static const char *segments_text(struct datp_ia *ia, const struct datp_pz *pz, bool write,
				 const struct datp_sge *iov, int n, char *text, size_t size)
{
	for (int i = 0; i < n; i++) {
		struct datp_sge region = { 0 };
		const char *fault = segment_fault(ia, pz, write, &iov[i], &region);

		if (!fault)
			continue;
		snprintf(text, size, "segment %d (lmr_context 0x%x, %llu bytes at 0x%llx): %s", i,
			 iov[i].lmr_context, (unsigned long long)iov[i].len,
			 (unsigned long long)iov[i].addr, fault);
		if (fault == beyond_region)
			beyond_append(text, size, &iov[i], &region);
		return fault;
	}
	return NULL;
}

/* Writes the text. Returns the format, which stands for the cause. */
__attribute__((format(printf, 3, 4))) static const char *told(char *text, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(text, size, format, args);
	va_end(args);
	return format;
}

static const char *length_text(const struct post *post, uint64_t len, char *text, size_t size)
{
	const struct datp_ep_attr *attr = &post->ep->attr;

	if (post->remote)
		return told(text, size,
			    "%llu bytes here, %llu there; the two have to fit, and the endpoint's max_rdma_size is %llu",
			    (unsigned long long)len, (unsigned long long)post->remote->len,
			    (unsigned long long)attr->max_rdma_size);
	return told(text, size, "%llu bytes; the endpoint's max_message_size (max_mtu_size) is %llu",
		    (unsigned long long)len, (unsigned long long)attr->max_message_size);
}

/*
 * Finds what was wrong, as far as the arguments show it. Returns a string that stands for the
 * cause.
 */
static const char *why(const struct post *post, enum datp_err err, char *text, size_t size)
{
	bool write = post->op == DATP_RECV || post->op == DATP_RDMA_READ;
	uint64_t len = 0;
	enum datp_err check = datp_post_check(post->ep, post->iov, post->n, post->remote,
					      post->flags, post->op, &len);

	if (check == DATP_ERR_BAD_COUNT)
		return told(text, size, "%d segments; the endpoint takes 0 to %d", post->n,
			    datp_post_max_iov(post->ep, post->op));
	if (check == DATP_ERR_PARAM)
		return told(text, size, "completion flags 0x%x do not fit the operation, or the endpoint's own flags",
			    post->flags);
	if (check == DATP_ERR_BAD_SEGMENTS && !post->iov)
		return told(text, size, "%d segments, and their list is NULL", post->n);
	if (check == DATP_ERR_BAD_SEGMENTS || check == DATP_ERR_LENGTH)
		return length_text(post, len, text, size);
	if (check == DATP_ERR_BAD_TARGET)
		return told(text, size, "there is no remote segment");
	if (post->op == DATP_RECV && post->ep->srq)
		return told(text, size, "the endpoint takes its receives from an SRQ");
	if (err == DATP_ERR_CREDITS)
		return told(text, size,
			    "the queue holds no more (max_recv_dtos %d, max_request_dtos %d) until completions are taken, "
			    "or the device has no memory for it",
			    (int)post->ep->attr.max_recv_dtos, (int)post->ep->attr.max_request_dtos);
	snprintf(text, size, "see the description of the call");
	return segments_text(post->ep->obj.ia, post->ep->pz, write, post->iov, post->n, text, size);
}

/*
 * Returns true the first time for this cause. `cause` is a constant, which is identified by its
 * address.
 */
static bool is_new(const void *object, const char *call, const char *cause)
{
	const void *key[] = { object, call, cause };

	return log_once(4, "post", key, sizeof(key));
}

static void say(const struct datp_obj *object, const char *kind, const char *call, DAT_RETURN ret,
		const char *text)
{
	core_log(4, "%s: %s on the %s %p is refused (0x%x %s): %s", object->ia->name, call, kind,
		 (const void *)object, ret, err_name(err_of(ret)), text);
}

static DAT_RETURN log_refused(const struct post *post, DAT_RETURN ret)
{
	char text[384];
	const char *cause = why(post, err_of(ret), text, sizeof(text));

	if (is_new(post->ep, post->name, cause))
		say(&post->ep->obj, "endpoint", post->name, ret, text);
	return ret;
}

/*
 * Returns the endpoint of a handle. If the handle is not valid, logs that and returns NULL; then there
 * is no plugin whose function could be called.
 */
static struct datp_ep *known(DAT_EP_HANDLE handle, const char *name)
{
	struct datp_ep *ep = obj_get(NULL, handle, DATP_EP);

	if (!ep)
		core_log(4, "core: %s: %p is not an endpoint, or has been freed", name, handle);
	return ep;
}

static const struct datp_fast *fast_of(struct datp_ep *ep)
{
	return &ia_priv(ep->obj.ia)->plugin->desc->fast;
}

#define POST(ep_, op_, name_, n_, iov_, remote_, flags_)                                           \
	(&(struct post){ .name = (name_),                                                          \
			 .op = (op_),                                                              \
			 .ep = (ep_),                                                              \
			 .n = (n_),                                                                \
			 .iov = (const struct datp_sge *)(iov_),                                   \
			 .remote = (const struct datp_rge *)(remote_),                             \
			 .flags = (unsigned int)(flags_) })

static DAT_RETURN diag_send(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	static const char name[] = "dat_ep_post_send";
	struct datp_ep *ep = known(handle, name);
	DAT_RETURN ret = ep ? fast_of(ep)->post_send(handle, n, iov, cookie, flags)
			    : datp_ret(DATP_ERR_HANDLE_EP);

	return ep && ret ? log_refused(POST(ep, DATP_SEND, name, n, iov, NULL, flags), ret) : ret;
}

static DAT_RETURN diag_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	static const char name[] = "dat_ep_post_recv";
	struct datp_ep *ep = known(handle, name);
	DAT_RETURN ret = ep ? fast_of(ep)->post_recv(handle, n, iov, cookie, flags)
			    : datp_ret(DATP_ERR_HANDLE_EP);

	return ep && ret ? log_refused(POST(ep, DATP_RECV, name, n, iov, NULL, flags), ret) : ret;
}

static DAT_RETURN diag_read(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
			    DAT_COMPLETION_FLAGS flags)
{
	static const char name[] = "dat_ep_post_rdma_read";
	struct datp_ep *ep = known(handle, name);
	DAT_RETURN ret = ep ? fast_of(ep)->post_rdma_read(handle, n, iov, cookie, remote, flags)
			    : datp_ret(DATP_ERR_HANDLE_EP);

	return ep && ret ? log_refused(POST(ep, DATP_RDMA_READ, name, n, iov, remote, flags), ret) : ret;
}

static DAT_RETURN diag_write(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
			     DAT_COMPLETION_FLAGS flags)
{
	static const char name[] = "dat_ep_post_rdma_write";
	struct datp_ep *ep = known(handle, name);
	DAT_RETURN ret = ep ? fast_of(ep)->post_rdma_write(handle, n, iov, cookie, remote, flags)
			    : datp_ret(DATP_ERR_HANDLE_EP);

	return ep && ret ? log_refused(POST(ep, DATP_RDMA_WRITE, name, n, iov, remote, flags), ret) : ret;
}

/* ---- receives of SRQs, and binds: the same functions for every plugin ---- */

static DAT_RETURN diag_srq_recv(DAT_SRQ_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				DAT_DTO_COOKIE cookie)
{
	static const char name[] = "dat_srq_post_recv";
	DAT_RETURN ret = dat12_srq_post_recv(handle, n, iov, cookie);
	struct datp_srq *srq = ret ? obj_get(NULL, handle, DATP_SRQ) : NULL;
	const struct datp_sge *list = (const struct datp_sge *)iov;
	char text[384] = "see the description of the call";
	const char *cause;

	if (!ret)
		return ret;
	if (!srq) {
		core_log(4, "core: %s: %p is not an SRQ, or has been freed", name, handle);
		return ret;
	}
	if (n < 0 || n > srq->max_recv_iov)
		cause = told(text, sizeof(text), "%d segments; the SRQ takes 0 to %d", (int)n, (int)srq->max_recv_iov);
	else if (n && !iov)
		cause = told(text, sizeof(text), "%d segments, and their list is NULL", (int)n);
	else if (err_of(ret) == DATP_ERR_CREDITS)
		cause = told(text, sizeof(text),
			     "the SRQ holds no more than its max_recv_dtos, %d, until completions are taken",
			     (int)srq->max_recv_dtos);
	else
		cause = segments_text(srq->obj.ia, srq->pz, true, list, n, text, sizeof(text));
	if (is_new(srq, name, cause))
		say(&srq->obj, "SRQ", name, ret, text);
	return ret;
}

/*
 * The table's own function, which is the same for every plugin. It is written once, before a table
 * with diag_bind() is used.
 */
static DAT_RMR_BIND_FUNC bind_beneath;

/*
 * Finds why a bind was refused, as far as the objects show it. Returns a string that stands for the
 * cause.
 */
static const char *bind_why(const struct datp_rmr *rmr, const struct datp_ep *ep,
			    const struct datp_sge *where, DAT_RETURN ret, char *text, size_t size)
{
	const char *cause = NULL;

	if (ep->pz != rmr->pz)
		cause = "the RMR and the endpoint are in different protection zones";
	else if (ep->request_evd && !(ep->request_evd->flags & DAT_EVD_RMR_BIND_FLAG))
		cause = "the endpoint's request EVD lacks DAT_EVD_RMR_BIND_FLAG";
	if (cause)
		snprintf(text, size, "%s", cause);
	else if (where->len)
		cause = segments_text(rmr->obj.ia, rmr->pz, false, where, 1, text, size);
	if (cause)
		return cause;
	cause = err_name(err_of(ret));
	if (err_of(ret) == DATP_ERR_CREDITS)
		snprintf(text, size,
			 "the endpoint's request queue holds no more (max_request_dtos %d) until "
			 "completions are taken",
			 (int)ep->attr.max_request_dtos);
	else if (err_of(ret) == DATP_ERR_PRIV_RDMA_READ || err_of(ret) == DATP_ERR_PRIV_RDMA_WRITE)
		snprintf(
			text, size,
			"the region was registered without the privilege that the window is to give");
	return cause;
}

static DAT_RETURN diag_bind(DAT_RMR_HANDLE handle, const DAT_LMR_TRIPLET *triplet,
			    DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	static const char name[] = "dat_rmr_bind";
	DAT_RETURN ret = bind_beneath(handle, triplet, priv, ep_handle, cookie, flags, context);
	struct datp_rmr *rmr = ret ? obj_get(NULL, handle, DATP_RMR) : NULL;
	struct datp_ep *ep = rmr ? obj_get(rmr->obj.ia, ep_handle, DATP_EP) : NULL;
	char text[384] = "see the description of the call";
	const char *cause;

	if (!ret)
		return ret;
	if (!rmr || !ep || !triplet) {
		core_log(4, "core: %s: there is no %s at %p", name,
			 !rmr  ? "RMR"
			 : !ep ? "endpoint of the RMR's adapter"
			       : "segment",
			 !rmr  ? handle
			 : !ep ? (void *)ep_handle
			       : NULL);
		return ret;
	}
	cause = bind_why(rmr, ep, (const struct datp_sge *)triplet, ret, text, sizeof(text));
	if (is_new(rmr, name, cause))
		say(&rmr->obj, "RMR", name, ret, text);
	return ret;
}

void dat12_diag_fill(DAT_PROVIDER *table)
{
	const int debug = 4;

	if (!log_wanted(debug))
		return;
	table->ep_post_send_func = diag_send;
	table->ep_post_recv_func = diag_recv;
	table->ep_post_rdma_read_func = diag_read;
	table->ep_post_rdma_write_func = diag_write;
	table->srq_post_recv_func = diag_srq_recv;
	if (!bind_beneath) /* threads may already call through it */
		bind_beneath = table->rmr_bind_func;
	table->rmr_bind_func = diag_bind;
}

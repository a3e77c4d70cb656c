/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts descriptors, to their queue and to uDAPL. Invariant: every descriptor that is accepted is
 * completed, and an error in it is found before it is posted to uDAPL.
 *
 * uDAPL 1.2 has no immediate data. So each send carries a header, and each receive has room for
 * one: the first segment, from the VI's own registered memory. An RDMA write with immediate data
 * becomes an RDMA write and a send that consists of a header. The functions that VipPostSend() and
 * VipPostRecv() call hold vi->lock.
 */
#include <string.h>

#include "impl.h"

/* Makes a post one function without calls, because it runs for each message. */
#define POST_INLINE static inline __attribute__((always_inline))

/*
 * Reads a field of a descriptor. A peer can write to a descriptor that is in memory with EnableRdmaWrite, at any time. So each
 * field is read once, and what has been checked is used; if it were read again, it could have another value then. relaxed: no
 * order among the fields is needed.
 */
#define READ_ONCE(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

/* A descriptor in the form in which it is posted to uDAPL. */
struct plan {
	DAT_LMR_TRIPLET iov[1 + MAX_SEGMENTS];	/* the header, then the data */
	DAT_COUNT count;
	DAT_RMR_TRIPLET remote;
	uint64_t length;
	unsigned int control;
	VIP_MEM_HANDLE handle;		/* of the last segment */
	bool cut;			/* a receive that reaches beyond its region, or begins there */
};

static __attribute__((noinline)) const struct mem_view *
look_up(struct vi *vi, VIP_MEM_HANDLE handle, uint32_t epoch)
{
	struct mem_view *view = &vi->cache[handle & (MEM_CACHE - 1)];

	if (epoch != vi->epoch) {
		memset(vi->cache, 0, sizeof(vi->cache));
		vi->epoch = epoch;
	}
	view->handle = 0;
	return mem_look_up(vi->nic, handle, view) ? view : NULL;
}

/* Returns the cached copy of a region, or NULL if there is no such region. */
POST_INLINE const struct mem_view *view_of(struct vi *vi, VIP_MEM_HANDLE handle)
{
	const struct mem_view *view = &vi->cache[handle & (MEM_CACHE - 1)];
	uint32_t epoch;

	/* acquire: pairs with epoch_end_locked(); an older copy is not used */
	epoch = atomic_load_explicit(&vi->nic->mem_epoch, memory_order_acquire);
	if (epoch == vi->epoch && view->handle == handle && handle != 0)
		return view;
	return look_up(vi, handle, epoch);
}

/* Returns the region, or NULL if there is none or the VI may not use it. */
POST_INLINE const struct mem_view *usable(struct vi *vi, VIP_MEM_HANDLE handle)
{
	const struct mem_view *view = view_of(vi, handle);

	return view != NULL && (view->ptag == vi->uses || vi_adopt_locked(vi, handle, false)) ? view : NULL;
}

/*
 * Returns the number of bytes from `at` to the end of the region; 0 if `at` is not in the region.
 */
POST_INLINE uint64_t bytes_from(const struct mem_view *view, uintptr_t at)
{
	return at < view->base || at - view->base > view->length ? 0 : view->length - (at - view->base);
}

/*
 * Returns the region, or NULL if the range is not completely in it or the VI may not use it. `first`: this is the
 * first range of a descriptor, its control segment.
 */
POST_INLINE const struct mem_view *covered(struct vi *vi, VIP_MEM_HANDLE handle, uintptr_t at,
					   uint64_t length, bool first)
{
	const struct mem_view *view = view_of(vi, handle);

	if (view == NULL || at < view->base || at - view->base > view->length ||
	    length > view->length - (at - view->base))
		return NULL;
	return view->ptag == vi->uses || vi_adopt_locked(vi, handle, first) ? view : NULL;
}

/*
 * Adds a segment to the plan. Returns the status bits of an error, or 0. A segment of a receive may reach beyond
 * its region, or begin beyond it, because programs post such receives for short messages, and hardware checks
 * only the memory that it writes. uDAPL checks what is posted, so it gets the part that is in the region, and a
 * longer message fails (work.c).
 */
POST_INLINE uint32_t plan_segment(struct vi *vi, struct plan *plan, const VIP_DATA_SEGMENT *segment,
				  bool recv)
{
	uintptr_t at = (uintptr_t)READ_ONCE(segment->Data.AddressBits);
	VIP_MEM_HANDLE handle = READ_ONCE(segment->Handle);
	uint64_t length = READ_ONCE(segment->Length);
	const struct mem_view *view;

	if (length == 0)
		return 0;
	view = recv ? usable(vi, handle) : covered(vi, handle, at, length, false);
	if (view == NULL)
		return VIP_STATUS_PROTECTION_ERROR;
	if (recv && length > bytes_from(view, at)) {
		length = bytes_from(view, at);
		plan->cut = true;
		if (length == 0)
			return 0;
	}
	plan->iov[plan->count++] = (DAT_LMR_TRIPLET){
		.lmr_context = view->context,
		.virtual_address = at,
		.segment_length = length,
	};
	plan->length += length;
	plan->handle = handle;
	return 0;
}

static void plan_head(const struct vi *vi, struct plan *plan, const struct op *op)
{
	plan->iov[0] = (DAT_LMR_TRIPLET){
		.lmr_context = vi->heads_context,
		.virtual_address = (uintptr_t)op->head,
		.segment_length = sizeof(*op->head),
	};
	plan->count = 1;
	plan->length = 0;
	plan->cut = false;
}

static bool control_is_good(unsigned int control, bool recv)
{
	unsigned int op = control & VIP_CONTROL_OP_MASK;

	if (op == VIP_CONTROL_OP_RESERVED || control & VIP_CONTROL_RESERVED)
		return false;
	if (recv)
		return op == VIP_CONTROL_OP_SENDRECV;
	return op != VIP_CONTROL_OP_RDMAREAD || !(control & VIP_CONTROL_IMMEDIATE);
}

/*
 * Returns whether the region contains the whole descriptor, with all of its `count` segments.
 */
static inline bool contains(const struct mem_view *view, const VIP_DESCRIPTOR *d, unsigned int count)
{
	size_t size = sizeof(d->CS) + count * sizeof(d->DS[0]);

	/* the control segment is known to be in the region */
	return size <= view->length - ((uintptr_t)d - view->base);
}

/*
 * Makes the plan. Returns the status bits of an error in the descriptor, or 0. Its control segment
 * is in the region of `view`, which is valid until another region is looked up, and the caller has
 * read plan->control from it. `recv` is the same as the queue's `recv`, but is a constant for the
 * compiler.
 */
POST_INLINE uint32_t plan_make(struct vi *vi, struct plan *plan, const struct op *op,
			       const struct mem_view *view, bool recv)
{
	const VIP_DESCRIPTOR *d = op->descriptor;
	unsigned int first = 0, count = READ_ONCE(d->CS.SegCount);
	/* A program's array may be longer than the two of the declaration. */
	const VIP_DESCRIPTOR_SEGMENT *ds =
		(const void *)((const char *)d + offsetof(VIP_DESCRIPTOR, DS));
	uint32_t fault = 0;

	if (!control_is_good(plan->control, recv))
		return VIP_STATUS_FORMAT_ERROR;
	if ((plan->control & VIP_CONTROL_OP_MASK) != VIP_CONTROL_OP_SENDRECV)
		first = 1;
	if (count < first || count - first > vi->nic->attr.MaxSegmentsPerDesc)
		return VIP_STATUS_FORMAT_ERROR;
	if (!contains(view, d, count))
		return VIP_STATUS_PROTECTION_ERROR;
	plan_head(vi, plan, op);
	/* Segments after a cut one are left out: data must not be written after a gap. */
	for (unsigned int i = first; i < count && !fault && !plan->cut; i++)
		fault = plan_segment(vi, plan, &ds[i].Local, recv);
	if (!fault && plan->length > vi->attr.MaxTransferSize)
		fault = VIP_STATUS_LENGTH_ERROR;
	if (first == 1)
		plan->remote = (DAT_RMR_TRIPLET){
			.rmr_context = READ_ONCE(ds[0].Remote.Handle),
			.target_address = READ_ONCE(ds[0].Remote.Data.AddressBits),
			.segment_length = plan->length,
		};
	return fault;
}

/* uDAPL has refused the operation. Returns the status bits for that. */
static uint32_t not_taken(struct queue *q, DAT_RETURN ret)
{
	count_given(q, -1u);
	switch (DAT_GET_TYPE(ret)) {
	case DAT_INVALID_STATE:
		return VIP_STATUS_DESC_FLUSHED_ERROR;
	case DAT_PROTECTION_VIOLATION:
	case DAT_PRIVILEGES_VIOLATION:
		return VIP_STATUS_PROTECTION_ERROR;
	case DAT_LENGTH_ERROR:
		return VIP_STATUS_LENGTH_ERROR;
	default:
		return VIP_STATUS_TRANSPORT_ERROR;
	}
}

/*
 * Lets the data of a short receive of one segment arrive after its header, as they are sent in a
 * short send. The thread that takes the completion copies them (work.c): it has just read the header
 * in the same place. On devices the data arrive directly in the program's memory, because programs
 * may poll a receive's last byte before it is completed.
 */
POST_INLINE void keep_short(struct vi *vi, struct op *op, struct plan *plan)
{
	op->kept = plan->count == 2 && plan->length <= RECV_SLOT - sizeof(*op->head) &&
		   !vi->nic->has_driver;
	if (!op->kept)
		return;
	op->epoch = vi->epoch;
	op->to_handle = plan->handle;
	op->to = (uint8_t *)(uintptr_t)plan->iov[1].virtual_address;
	op->length = (uint32_t)plan->length;
	plan->iov[0].segment_length += plan->length;
	plan->count = 1;
}

POST_INLINE uint32_t give_receive(struct vi *vi, struct op *op, struct plan *plan)
{
	DAT_RETURN ret;

	/* relaxed: only a thread that holds vi->lock distinguishes STAGED from POSTED */
	atomic_store_explicit(&op->phase, OP_POSTED, memory_order_relaxed);
	op->cut = plan->cut;
	keep_short(vi, op, plan);
	count_given(op->queue, 1);
	ret = dat_ep_post_recv(vi->ep, plan->count, plan->iov, op_cookie(op, false),
			       DAT_COMPLETION_DEFAULT_FLAG);
	return ret == DAT_SUCCESS ? 0 : not_taken(op->queue, ret);
}

static void fill_head(struct op *op, const struct plan *plan, uint8_t kind)
{
	*op->head = (struct wire_head){
		.kind = kind,
		.flags = plan->control & VIP_CONTROL_IMMEDIATE ? WIRE_IMMEDIATE : 0,
		.immediate = op->descriptor->CS.ImmediateData,
		.length = (uint32_t)plan->length,
	};
}

static DAT_COMPLETION_FLAGS fence_of(const struct plan *plan)
{
	return plan->control & VIP_CONTROL_QFENCE ? DAT_COMPLETION_BARRIER_FENCE_FLAG :
						     DAT_COMPLETION_DEFAULT_FLAG;
}

/*
 * Copies the data of a short send after its header, because one segment is the fastest in every
 * provider; but not with a fence, because the data may come from an RDMA read that has not
 * completed.
 */
static inline void pack_short(struct op *op, struct plan *plan)
{
	uint8_t *to = (uint8_t *)(op->head + 1);

	if (plan->length > SEND_SLOT - sizeof(*op->head) || plan->control & VIP_CONTROL_QFENCE)
		return;
	for (DAT_COUNT i = 1; i < plan->count; i++) {
		copy_short(to, (const void *)(uintptr_t)plan->iov[i].virtual_address,
			   plan->iov[i].segment_length);
		to += plan->iov[i].segment_length;
	}
	plan->iov[0].segment_length += plan->length;
	plan->count = 1;
}

static DAT_RETURN give_send(struct vi *vi, struct op *op, struct plan *plan)
{
	fill_head(op, plan, WIRE_SEND);
	pack_short(op, plan);
	return dat_ep_post_send(vi->ep, plan->count, plan->iov, op_cookie(op, false),
				fence_of(plan));
}

/*
 * Posts an RDMA write. With immediate data, posts also the message that carries them, and only the
 * message completes.
 */
static DAT_RETURN give_write(struct vi *vi, struct op *op, struct plan *plan)
{
	bool immediate = plan->control & VIP_CONTROL_IMMEDIATE;
	unsigned int flags = fence_of(plan);
	DAT_RETURN ret;

	if (immediate)
		flags |= DAT_COMPLETION_SUPPRESS_FLAG;
	ret = dat_ep_post_rdma_write(vi->ep, plan->count - 1, plan->iov + 1, op_cookie(op, immediate),
				     &plan->remote, (DAT_COMPLETION_FLAGS)flags);
	if (ret != DAT_SUCCESS || !immediate)
		return ret;
	fill_head(op, plan, WIRE_WRITTEN);
	return dat_ep_post_send(vi->ep, 1, plan->iov, op_cookie(op, false),
				DAT_COMPLETION_DEFAULT_FLAG);
}

POST_INLINE uint32_t give_request(struct vi *vi, struct op *op, struct plan *plan)
{
	unsigned int control = plan->control & VIP_CONTROL_OP_MASK;
	DAT_RETURN ret;

	if (control == VIP_CONTROL_OP_RDMAWRITE && !vi->remote.EnableRdmaWrite)
		return RULE_RDMA_REFUSED;
	if (control == VIP_CONTROL_OP_RDMAREAD && !vi->remote.EnableRdmaRead)
		return RULE_RDMA_REFUSED;
	/* relaxed: as in give_receive() */
	atomic_store_explicit(&op->phase, OP_POSTED, memory_order_relaxed);
	op->length = (uint32_t)plan->length;
	count_given(op->queue, 1);
	if (control == VIP_CONTROL_OP_RDMAWRITE)
		ret = give_write(vi, op, plan);
	else if (control == VIP_CONTROL_OP_RDMAREAD)
		ret = dat_ep_post_rdma_read(vi->ep, plan->count - 1, plan->iov + 1,
					    op_cookie(op, false), &plan->remote, fence_of(plan));
	else
		ret = give_send(vi, op, plan);
	return ret == DAT_SUCCESS ? 0 : not_taken(op->queue, ret);
}

/*
 * Ends the connection after a failure, if the level is reliable. The keeper handles the event of
 * the end. It reports an end only for a VI that is still connected, so this one is reported here,
 * unless the program is ending the connection itself.
 */
static void break_if_reliable(struct vi *vi, uint32_t fault)
{
	if (fault == VIP_STATUS_DESC_FLUSHED_ERROR || vi->state != VIP_STATE_CONNECTED ||
	    !rule_error_breaks(vi->attr.ReliabilityLevel))
		return;
	if (!vi->closing)
		herald_end(vi, false);
	vi->state = VIP_STATE_ERROR;
	vi->feeding = false;
	dat_ep_disconnect(vi->ep, DAT_CLOSE_ABRUPT_FLAG);
}

static void break_locked(struct vi *vi)
{
	break_if_reliable(vi, VIP_STATUS_PROTECTION_ERROR);
}

/*
 * The keeper calls this. It has helpers end the connections whose peers have sent to memory that is not
 * registered any more (work.c). Returns when to call it again.
 */
uint64_t vi_break_violated(struct nic *nic)
{
	bool left = false;

	/* acquire: makes vi->violated of these VIs visible */
	if (!atomic_exchange_explicit(&nic->violated, false, memory_order_acquire))
		return UINT64_MAX;
	pthread_mutex_lock(&nic->lock);
	for (struct vi *vi = nic->vis; vi != NULL; vi = vi->next) {
		/* both relaxed: it is cleared under vi->lock, here and when the connection is over */
		if (!atomic_load_explicit(&vi->violated, memory_order_relaxed))
			continue;
		if (!vi_reach(vi)) {
			left = true;
			continue;
		}
		if (vi->state != VIP_STATE_CONNECTED || vi->closing || helper_start_locked(vi, break_locked))
			atomic_store_explicit(&vi->violated, false, memory_order_relaxed);
		else
			left = true;
		pthread_mutex_unlock(&vi->lock);
	}
	pthread_mutex_unlock(&nic->lock);
	if (!left)
		return UINT64_MAX;
	/* relaxed: the keeper itself reads it */
	atomic_store_explicit(&nic->violated, true, memory_order_relaxed);
	return now_ms() + RETRY_MS;
}

static void op_fail(struct vi *vi, struct op *op, uint32_t fault)
{
	struct work *w = op->queue->work;

	pthread_mutex_lock(&w->lock);
	op_finish_locked(op, fault);
	pthread_mutex_unlock(&w->lock);
	break_if_reliable(vi, fault);
}

POST_INLINE const struct mem_view *control_of(struct vi *vi, const struct op *op)
{
	return covered(vi, op->handle, (uintptr_t)op->descriptor, sizeof(VIP_CONTROL_SEGMENT), true);
}

static bool is_aligned(const struct op *op)
{
	return (uintptr_t)op->descriptor % VIP_DESCRIPTOR_ALIGNMENT == 0;
}

/* Reports a bad descriptor to the error handler. Returns its status bits. */
static __attribute__((noinline)) uint32_t wrong_descriptor(struct vi *vi, const struct op *op)
{
	herald_error(vi->nic, vi, NULL, op->descriptor, VIP_RESOURCE_DESCRIPTOR,
		     VIP_ERROR_POST_DESC);
	return is_aligned(op) ? VIP_STATUS_PROTECTION_ERROR : VIP_STATUS_FORMAT_ERROR;
}

/*
 * Checks the address of the descriptor. Returns the status bits of an error, or 0; then *view is
 * the region that holds its control segment.
 */
POST_INLINE uint32_t descriptor_fault(struct vi *vi, struct op *op, const struct mem_view **view)
{
	*view = control_of(vi, op);
	op->writable = *view != NULL;
	if (op->writable && is_aligned(op))
		return 0;
	return wrong_descriptor(vi, op);
}

/* Appends the descriptor to the queue. Returns its operation, or NULL if the queue is full. */
POST_INLINE struct op *op_enqueue(struct queue *q, VIP_DESCRIPTOR *descriptor,
				  VIP_MEM_HANDLE handle)
{
	/*
	 * tail is relaxed, because only threads that hold vi->lock write it. head is acquired, because the thread that has
	 * popped an operation must have finished reading it before the slot is used again.
	 */
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
	uint32_t head = atomic_load_explicit(&q->head, memory_order_acquire);
	struct op *op = &q->ops[tail & q->mask];

	if (tail - head >= q->depth)
		return NULL;
	op->descriptor = descriptor;
	op->handle = handle;
	op->kind = q->recv ? VIP_STATUS_OP_RECEIVE : VIP_STATUS_OP_SEND;
	op->early = 0;
	op->writable = false;
	atomic_store_explicit(&op->phase, OP_STAGED, memory_order_relaxed);
	/* release: a thread that sees the new tail sees the operation */
	atomic_store_explicit(&q->tail, tail + 1, memory_order_release);
	return op;
}

static uint32_t kind_of(unsigned int control)
{
	switch (control & VIP_CONTROL_OP_MASK) {
	case VIP_CONTROL_OP_RDMAWRITE:
		return VIP_STATUS_OP_RDMA_WRITE;
	case VIP_CONTROL_OP_RDMAREAD:
		return VIP_STATUS_OP_RDMA_READ;
	default:
		return VIP_STATUS_OP_SEND;
	}
}

POST_INLINE uint32_t post_request(struct vi *vi, struct op *op)
{
	const struct mem_view *view;
	struct plan plan;
	uint32_t fault = descriptor_fault(vi, op, &view);

	if (fault)
		return fault;
	op->descriptor->CS.Status = 0;
	plan.control = READ_ONCE(op->descriptor->CS.Control);
	op->kind = kind_of(plan.control);
	if (vi->state != VIP_STATE_CONNECTED || vi->closing)
		return RULE_UNCONNECTED_SEND;
	fault = plan_make(vi, &plan, op, view, false);
	return fault ? fault : give_request(vi, op, &plan);
}

POST_INLINE uint32_t post_receive(struct vi *vi, struct op *op)
{
	const struct mem_view *view;
	struct plan plan;
	uint32_t fault = descriptor_fault(vi, op, &view);

	if (fault)
		return fault;
	op->descriptor->CS.Status = 0;
	if (vi->state == VIP_STATE_ERROR || vi->closing)
		return VIP_STATUS_DESC_FLUSHED_ERROR;
	plan.control = READ_ONCE(op->descriptor->CS.Control);
	fault = plan_make(vi, &plan, op, view, true);
	if (fault || !vi->feeding)
		return fault;
	return give_receive(vi, op, &plan);
}

/*
 * Posts the staged receives to uDAPL. They were checked when they were posted, but memory may have
 * been deregistered since, so they are checked again.
 */
void post_staged_locked(struct vi *vi)
{
	struct queue *q = &vi->recvq;
	const struct mem_view *view;
	struct plan plan;
	uint32_t fault;

	/* relaxed: vi->lock is held, and an operation that another thread pops is not STAGED */
	for (uint32_t i = atomic_load_explicit(&q->head, memory_order_relaxed);
	     i != atomic_load_explicit(&q->tail, memory_order_relaxed); i++) {
		struct op *op = &q->ops[i & q->mask];

		if (atomic_load_explicit(&op->phase, memory_order_relaxed) != OP_STAGED)
			continue;
		view = control_of(vi, op);
		fault = VIP_STATUS_PROTECTION_ERROR;
		if (view != NULL) {
			plan.control = READ_ONCE(op->descriptor->CS.Control);
			fault = plan_make(vi, &plan, op, view, true);
		}
		if (!fault)
			fault = give_receive(vi, op, &plan);
		if (fault)
			op_fail(vi, op, fault);
	}
}

/*
 * Refuses a post because the VI has been destroyed meanwhile, or because the queue is full. The latter is also reported to the
 * error handler, once for each connection.
 */
static VIP_RETURN refuse_locked(struct vi *vi, struct queue *q, VIP_DESCRIPTOR *descriptor)
{
	if (!vi_exists(vi))
		return VIP_INVALID_PARAMETER;
	if (!q->overrun)
		herald_error(vi->nic, vi, NULL, descriptor, VIP_RESOURCE_VI,
			     VIP_ERROR_VI_OVERRUN);
	q->overrun = true;
	return VIP_ERROR_RESOURCE;
}

POST_INLINE VIP_RETURN post(VIP_VI_HANDLE handle, bool recv, VIP_DESCRIPTOR *descriptor,
			    VIP_MEM_HANDLE mem_handle)
{
	struct vi *vi = vi_get(handle);
	VIP_RETURN ret = VIP_SUCCESS;
	uint32_t fault;
	struct op *op;
	int own;

	if (vi == NULL || descriptor == NULL)
		return VIP_INVALID_PARAMETER;
	own = vi->nic->has_driver ? cancel_off() : PTHREAD_CANCEL_ENABLE;
	/* relaxed: a hint, which greeting_await() checks again */
	if (!recv && atomic_load_explicit(&vi->awaits_greeting, memory_order_relaxed))
		greeting_await(vi);
	pthread_mutex_lock(&vi->lock);
	op = vi_exists(vi) ? op_enqueue(recv ? &vi->recvq : &vi->sendq, descriptor, mem_handle) : NULL;
	if (op == NULL) {
		ret = refuse_locked(vi, recv ? &vi->recvq : &vi->sendq, descriptor);
	} else {
		fault = recv ? post_receive(vi, op) : post_request(vi, op);
		if (fault)
			op_fail(vi, op, fault);
	}
	pthread_mutex_unlock(&vi->lock);
	if (vi->nic->has_driver)
		cancel_restore(own);
	return ret;
}

VIP_RETURN VipPostSend(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle)
{
	return post(vi, false, descriptor, handle);
}

VIP_RETURN VipPostRecv(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle)
{
	return post(vi, true, descriptor, handle);
}

/* Does nothing, because every send is posted immediately. */
VIP_RETURN VipPostDeferredSends(VIP_VI_HANDLE vi, VIP_BOOLEAN enable_interrupt,
				VIP_BOOLEAN *deferred)
{
	(void)enable_interrupt;
	if (vi_get(vi) == NULL)
		return VIP_INVALID_PARAMETER;
	if (deferred != NULL)
		*deferred = VIP_FALSE;
	return VIP_SUCCESS;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that the tests of clauses are built with: objects on the IA under test, connections,
 * transfers, and expectations of events. Each of them MUSTs success, and a failure names the line of
 * the test that called it. Invariant: kit_close() leaves nothing of the test behind in this process.
 *
 * Side a connects, side b listens; the test's CLAUSE macro says which of them is in this process. A
 * function without a side in its name creates its object in this process.
 */
#ifndef CONFORM_KIT_H
#define CONFORM_KIT_H

#include <pthread.h>

#include "conform.h"
#include "remote.h"

#define KIT_HERE judge_site(__FILE__, __LINE__)

/* An endpoint and its three EVDs. */
struct kit_end {
	DAT_EVD_HANDLE recv, request, connect;
	DAT_EP_HANDLE ep;
};

/* Two endpoints: a is connected to b through b's service point. */
struct kit_pair {
	struct kit_end a, b;
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
};

/* Memory and the region over it; kit_close() frees the memory. */
struct kit_buf {
	unsigned char *mem;	/* NULL: in the other process */
	size_t size;
	DAT_VADDR address;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context;
};

/* A list for dat_registry_list_providers(), with room for all adapters of the host and some more. */
struct kit_list {
	DAT_COUNT room;
	DAT_PROVIDER_INFO *infos; /* each byte is 0xa5 */
	DAT_PROVIDER_INFO **list; /* the addresses of infos, and behind the last one KIT_BAD */
};

#define KIT_LOCAL  (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
#define KIT_REMOTE DAT_MEM_PRIV_ALL_FLAG
/* The rights that the destination of an RDMA Read needs, according to the provider's attributes. */
#define KIT_SINK   (t.prov.rdma_write_for_rdma_read_req ? KIT_LOCAL | DAT_MEM_PRIV_REMOTE_WRITE_FLAG : KIT_LOCAL)
#define KIT_BAD	   ((DAT_HANDLE)(uintptr_t)0xa5a5a5a5) /* poison for OUT parameters; never passed in */

void kit_open(void);
void kit_close(void);
DAT_IA_HANDLE kit_open_another(void);	/* a second instance, closed with the first */
DAT_TIMEOUT kit_patience(void);		/* the bound of a wait in microseconds */
void kit_sleep_ms(unsigned int ms);

/* Returns false if there is no memory. Any thread may call it. */
bool kit_list_make(struct kit_list *l);
void kit_list_free(struct kit_list *l);

/* Objects. */
#define kit_evd(qlen, flags)	      (KIT_HERE, kit_evd_at(t.ia, qlen, flags, DAT_HANDLE_NULL))
#define kit_evd_cno(qlen, flags, cno) (KIT_HERE, kit_evd_at(t.ia, qlen, flags, cno))
#define kit_cno()		      (KIT_HERE, kit_cno_at())
#define kit_pz()		      (KIT_HERE, kit_pz_at(t.ia))
#define kit_end(end, attr)	      (KIT_HERE, kit_end_at(false, end, attr))
#define kit_end_a(end, attr)	      (KIT_HERE, kit_end_at(t.a_remote, end, attr))
#define kit_end_b(end, attr)	      (KIT_HERE, kit_end_at(t.b_remote, end, attr))
#define kit_evd_b(qlen, flags) \
	(KIT_HERE, kit_evd_at(kit_ia_b(), qlen, flags, DAT_HANDLE_NULL))
#define kit_pz_b()		      (KIT_HERE, kit_pz_at(kit_ia_b()))
#define kit_psp(evd, qual)	      (KIT_HERE, kit_psp_at(evd, DAT_PSP_CONSUMER_FLAG, qual))
#define kit_buf(size, priv)	      (KIT_HERE, kit_buf_at(t.pz, size, priv))
#define kit_buf_a(size, priv)	      (KIT_HERE, kit_buf_at(kit_pz_of(t.a_remote), size, priv))
#define kit_buf_b(size, priv)	      (KIT_HERE, kit_buf_at(kit_pz_of(t.b_remote), size, priv))
#define kit_buf_of(end, size, priv)   \
	(KIT_HERE, kit_buf_at(kit_pz_of(remote_is((end)->ep)), size, priv))
#define kit_buf_in(pz, size, priv)    (KIT_HERE, kit_buf_at(pz, size, priv))
#define kit_region(pz, mem, size, priv) (KIT_HERE, kit_region_at(pz, mem, size, priv))
DAT_EVD_HANDLE kit_evd_at(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags,
			  DAT_CNO_HANDLE cno);
DAT_IA_HANDLE kit_ia_b(void);	/* the IA of b's service points */
DAT_EVD_HANDLE kit_async_b(void);
DAT_PZ_HANDLE kit_pz_of(bool remote);
DAT_CNO_HANDLE kit_cno_at(void);
DAT_PZ_HANDLE kit_pz_at(DAT_IA_HANDLE ia);
void kit_end_at(bool remote, struct kit_end *end, const DAT_EP_ATTR *attr); /* NULL: kit_attr() */
/* Creates a PSP on side b, which chooses the qualifier. */
DAT_PSP_HANDLE kit_psp_at(DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags, DAT_CONN_QUAL *qual);
struct kit_buf kit_buf_at(DAT_PZ_HANDLE pz, size_t size, DAT_MEM_PRIV_FLAGS priv);
struct kit_buf kit_region_at(DAT_PZ_HANDLE pz, void *mem, size_t size, DAT_MEM_PRIV_FLAGS priv);
DAT_EP_ATTR kit_attr(void);	/* modest sizes and depths, within the IA's limits */
/* The same for messages so long that none can complete before the peer has posted a receive. */
DAT_EP_ATTR kit_attr_long(void);
DAT_EP_STATE kit_state(DAT_EP_HANDLE ep);

/* Connections. */
#define kit_pair(pair, attr)	(KIT_HERE, kit_pair_at(pair, attr))
#define kit_pair_connect(pair)	(KIT_HERE, kit_pair_connect_at(pair))
#define kit_cr(evd)		(KIT_HERE, kit_cr_at(evd))
#define kit_disconnect(pair)	(KIT_HERE, kit_disconnect_at(pair))
#define kit_reconnect(pair)	(KIT_HERE, kit_reconnect_at(pair)) /* after a reset of both ends */
void kit_pair_unconnected_at(struct kit_pair *pair, const DAT_EP_ATTR *attr);
#define kit_pair_unconnected(pair, attr) (KIT_HERE, kit_pair_unconnected_at(pair, attr))
void kit_pair_at(struct kit_pair *pair, const DAT_EP_ATTR *attr);
void kit_pair_connect_at(struct kit_pair *pair);
void kit_reconnect_at(struct kit_pair *pair);
void kit_disconnect_at(struct kit_pair *pair);	/* abruptly; takes the events of both sides */
DAT_CR_HANDLE kit_cr_at(DAT_EVD_HANDLE evd);	/* of the next connection request */
DAT_RETURN kit_connect(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual);
DAT_RETURN kit_connect_data(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual, DAT_COUNT size, const void *data);
DAT_CONN_QUAL kit_unused_qual(void);	/* a qualifier of side b on which no program listens */
bool kit_same_address(const void *one, const void *other);
DAT_IA_ADDRESS_PTR kit_address_of(bool remote);	/* of that side's IA */

/* Events. */
#define kit_event(evd)			(KIT_HERE, kit_event_at(evd))
#define kit_conn(evd, ep, number)	(KIT_HERE, kit_conn_at(evd, ep, number, #number))
#define kit_over(evd, ep)		(KIT_HERE, kit_over_at(evd, ep))
#define kit_dto(evd, ep, cookie, st)	(KIT_HERE, kit_dto_at(evd, ep, cookie, st, #st))
#define kit_se(evd, number)		(KIT_HERE, kit_se_at(evd, number))
#define kit_quiet(evd)			(KIT_HERE, kit_quiet_at(evd))
#define kit_empty(evd)			(KIT_HERE, kit_empty_at(evd))
DAT_EVENT kit_event_at(DAT_EVD_HANDLE evd);
DAT_EVENT kit_conn_at(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number,
		      const char *name);
DAT_EVENT_NUMBER kit_over_at(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep);	/* DISCONNECTED or BROKEN */
DAT_DTO_COMPLETION_EVENT_DATA kit_dto_at(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie,
					 DAT_DTO_COMPLETION_STATUS status, const char *name);
void kit_se_at(DAT_EVD_HANDLE evd, uint64_t number);
void kit_quiet_at(DAT_EVD_HANDLE evd);	/* checks that there is no event, and that none comes for a while */
void kit_empty_at(DAT_EVD_HANDLE evd);	/* checks that there is no event now */
const char *kit_event_name(DAT_EVENT_NUMBER number);

/* Ends the test as not applicable unless the attributes allow n segments in a post of any kind. */
void kit_needs_segments(int n);
/* Transfers; a length of 0 is posted as no segments at all. */
DAT_LMR_TRIPLET kit_seg(const struct kit_buf *buf, size_t offset, size_t length);
DAT_RMR_TRIPLET kit_target(const struct kit_buf *buf, size_t offset, size_t length);
DAT_DTO_COOKIE kit_cookie(uint64_t number);
DAT_RETURN kit_recv(DAT_EP_HANDLE ep, const struct kit_buf *buf, size_t offset, size_t length,
		    uint64_t cookie);
DAT_RETURN kit_send(DAT_EP_HANDLE ep, const struct kit_buf *buf, size_t offset, size_t length,
		    uint64_t cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN kit_write(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET from, DAT_RMR_TRIPLET to, uint64_t cookie,
		     DAT_COMPLETION_FLAGS flags);
DAT_RETURN kit_read(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET to, DAT_RMR_TRIPLET from, uint64_t cookie,
		    DAT_COMPLETION_FLAGS flags);
void kit_fill(void *mem, size_t size, unsigned int seed);
bool kit_filled(const void *mem, size_t size, unsigned int seed);
/* The same for memory that may be in the other process. */
void kit_buf_fill(const struct kit_buf *buf, size_t offset, size_t size, unsigned int seed);
bool kit_buf_filled(const struct kit_buf *buf, size_t offset, size_t size, unsigned int seed);
void kit_buf_set(const struct kit_buf *buf, size_t offset, size_t size, unsigned char byte);
bool kit_buf_is(const struct kit_buf *buf, size_t offset, const void *data, size_t size);
void kit_buf_read(const struct kit_buf *buf, size_t offset, void *data, size_t size);
/*
 * Read a byte, or eight, of this process's memory that a peer may be writing: by a plain load, as programs that
 * poll do.
 */
unsigned char kit_buf_peek(const struct kit_buf *buf, size_t offset);
uint64_t kit_buf_peek_word(const struct kit_buf *buf, size_t offset);
/* Sends a message from one end to the other, and checks that it arrives completely. */
#define kit_exchange(from, to)	(KIT_HERE, kit_exchange_at(from, to))
void kit_exchange_at(struct kit_end *from, struct kit_end *to);

/*
 * Checks that a's RDMA operation with this cookie failed because of b: a remote access error, and
 * the connection is broken.
 */
#define kit_remote_access(pair, cookie, write)                                                     \
	(KIT_HERE, kit_remote_access_at(pair, cookie, write))
void kit_remote_access_at(struct kit_pair *pair, uint64_t cookie, bool write);

DAT_RETURN kit_post_se(DAT_EVD_HANDLE evd, uint64_t number);

/* An endpoint in a given state, and the objects that keep it there. */
struct kit_at {
	DAT_EP_HANDLE ep;
	struct kit_end end;	/* its EVDs; none in TENTATIVE_CONNECTION_PENDING */
	struct kit_pair
		pair; /* end is its a; CONNECTED, DISCONNECT_PENDING and DISCONNECTED only */
	DAT_EVD_HANDLE cr_evd;
	DAT_CR_HANDLE cr;	/* the pending request of PASSIVE, ACTIVE and TENTATIVE */
	struct kit_buf buf;
};

#define KIT_STATES 8
extern const DAT_EP_STATE kit_states[KIT_STATES];
/* Returns false if the provider has no endpoint that stays in this state. */
#define kit_enter(at, state)	(KIT_HERE, kit_enter_at(at, state))
bool kit_enter_at(struct kit_at *at, DAT_EP_STATE state);

/*
 * Four threads call `work` at once, with 0 to 3. Returns the sum of what they return, which is how
 * often something failed.
 */
#define kit_together(work)	(KIT_HERE, kit_together_at(work))
int kit_together_at(int (*work)(int who));

/* A thread that waits on an EVD or, when cno is set, on a CNO. */
struct kit_waiter {
	pthread_t thread;
	pid_t tid;
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	DAT_TIMEOUT timeout;
	DAT_COUNT threshold;
	DAT_RETURN ret;	/* from here on: valid after kit_wait_end() */
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_EVD_HANDLE hint;
	bool done;	/* atomic */
	bool joined;
};

#define kit_wait_start(w, evd, threshold)	(KIT_HERE, kit_wait_start_at(w, evd, threshold))
#define kit_cno_wait_start(w, cno)		(KIT_HERE, kit_cno_wait_start_at(w, cno))
#define kit_wait_end(w)				(KIT_HERE, kit_wait_end_at(w))
void kit_wait_start_at(struct kit_waiter *w, DAT_EVD_HANDLE evd, DAT_COUNT threshold);
void kit_cno_wait_start_at(struct kit_waiter *w, DAT_CNO_HANDLE cno);
bool kit_wait_done(struct kit_waiter *w);
void kit_wait_end_at(struct kit_waiter *w);	/* the wait MUST return in time */
/* Returns true if the waiter stays blocked while this watches it for a while. */
bool kit_still_waits(struct kit_waiter *w);

#endif /* CONFORM_KIT_H */

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns answers: endpoints that only carry a verdict to a client, and lead to no VI (listen.c says
 * why). An answer exists until its client has disconnected. Invariant: the keeper lets no more than
 * MAX_ANSWERS exist, and none after ANSWER_MS, so clients that never disconnect, or that never
 * answer the acceptance, cannot use up the adapter's endpoints. Only the keeper frees answers, because an event
 * that it is handling names its endpoint.
 *
 * The client can use the connection for RDMA while it exists, and it may know keys of the program's memory. So the endpoint is
 * in a zone without memory: nic->nobody.
 */
#include <stdlib.h>

#include "impl.h"

/* A client disconnects when it has read its verdict, which takes one round trip. */
enum { MAX_ANSWERS = 64, ANSWER_MS = 3000 };

struct answer {
	struct answer *next;
	DAT_EP_HANDLE ep;
	uint64_t until;			/* milliseconds */
};

void answers_init(struct answers *a)
{
	pthread_mutex_init(&a->lock, NULL);
	a->last = &a->first;
}

/* Takes an answer off the list. a->lock is held. */
static void unlist_locked(struct answers *a, struct answer **at)
{
	struct answer *answer = *at;

	*at = answer->next;
	if (answer->next == NULL)
		a->last = at;
	a->count--;
}

static void list(struct answers *a, struct answer *answer)
{
	answer->next = NULL;
	answer->until = now_ms() + ANSWER_MS;
	pthread_mutex_lock(&a->lock);
	*a->last = answer;
	a->last = &answer->next;
	a->count++;
	pthread_mutex_unlock(&a->lock);
}

/*
 * Accepts a connection request with an answer. Returns false if that fails; then the request still has to be
 * answered.
 */
bool answer_begin(struct nic *nic, DAT_CR_HANDLE cr, void *data, size_t size)
{
	struct answer *answer = malloc(sizeof(*answer));

	if (answer == NULL)
		return false;
	if (dat_ep_create(nic->ia, nic->nobody, DAT_HANDLE_NULL, DAT_HANDLE_NULL, nic->cm_evd,
			  NULL, &answer->ep) != DAT_SUCCESS) {
		free(answer);
		return false;
	}
	if (dat_cr_accept(cr, answer->ep, (DAT_COUNT)size, data) != DAT_SUCCESS) {
		dat_ep_free(answer->ep);
		free(answer);
		return false;
	}
	list(&nic->answers, answer);
	/* the keeper ends it in time: see answers_run() */
	keeper_wake(nic);
	return true;
}

/* The keeper calls this when a connection that leads to no VI is over. Frees its answer. */
void answer_end(struct nic *nic, DAT_EP_HANDLE ep)
{
	struct answers *a = &nic->answers;
	struct answer **at, *answer;

	pthread_mutex_lock(&a->lock);
	for (at = &a->first; *at != NULL && (*at)->ep != ep; at = &(*at)->next)
		;
	answer = *at;
	if (answer != NULL)
		unlist_locked(a, at);
	pthread_mutex_unlock(&a->lock);
	if (answer != NULL)
		dat_ep_free(ep);
	free(answer);
}

/*
 * The keeper calls this. It frees the answers whose time is over, and, if there are too many, the
 * oldest ones, which clients have most likely read. Returns when to call it again.
 */
uint64_t answers_run(struct nic *nic)
{
	struct answers *a = &nic->answers;
	struct answer *answer;
	uint64_t next;

	for (;;) {
		pthread_mutex_lock(&a->lock);
		answer = a->first;
		next = answer != NULL ? answer->until : UINT64_MAX;
		if (next <= now_ms() || a->count > MAX_ANSWERS)
			unlist_locked(a, &a->first);
		else
			answer = NULL;
		pthread_mutex_unlock(&a->lock);
		if (answer == NULL)
			return next;
		dat_ep_free(answer->ep);
		free(answer);
	}
}

/* Frees all answers. The IA is closed, which has freed the endpoints. */
void answers_free_all(struct nic *nic)
{
	struct answers *a = &nic->answers;
	struct answer *answer;

	while ((answer = a->first) != NULL) {
		a->first = answer->next;
		free(answer);
	}
	pthread_mutex_destroy(&a->lock);
}

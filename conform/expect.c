/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections, their events, and threads that wait for events. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kit.h"

const char *kit_event_name(DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_DTO_COMPLETION_EVENT: return "DAT_DTO_COMPLETION_EVENT";
	case DAT_RMR_BIND_COMPLETION_EVENT: return "DAT_RMR_BIND_COMPLETION_EVENT";
	case DAT_CONNECTION_REQUEST_EVENT: return "DAT_CONNECTION_REQUEST_EVENT";
	case DAT_CONNECTION_EVENT_ESTABLISHED: return "DAT_CONNECTION_EVENT_ESTABLISHED";
	case DAT_CONNECTION_EVENT_PEER_REJECTED: return "DAT_CONNECTION_EVENT_PEER_REJECTED";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "DAT_CONNECTION_EVENT_NON_PEER_REJECTED";
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return "DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR";
	case DAT_CONNECTION_EVENT_DISCONNECTED: return "DAT_CONNECTION_EVENT_DISCONNECTED";
	case DAT_CONNECTION_EVENT_BROKEN: return "DAT_CONNECTION_EVENT_BROKEN";
	case DAT_CONNECTION_EVENT_TIMED_OUT: return "DAT_CONNECTION_EVENT_TIMED_OUT";
	case DAT_CONNECTION_EVENT_UNREACHABLE: return "DAT_CONNECTION_EVENT_UNREACHABLE";
	case DAT_SOFTWARE_EVENT: return "DAT_SOFTWARE_EVENT";
	default: return "another event";
	}
}

DAT_EVENT kit_event_at(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	memset(&event, 0xa5, sizeof(event));
	MUST_RET(dat_evd_wait(evd, kit_patience(), 1, &event, &nmore), DAT_SUCCESS);
	CHECK_THAT(event.evd_handle == evd);
	return event;
}

DAT_EVENT kit_conn_at(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number,
		      const char *name)
{
	DAT_EVENT event = kit_event_at(evd);

	if (event.event_number != number)
		MUST_NOT_COME_HERE("the next event", name, "%s (0x%x)",
				   kit_event_name(event.event_number),
				   (unsigned int)event.event_number);
	if (ep)
		CHECK_THAT(event.event_data.connect_event_data.ep_handle == ep);
	return event;
}

DAT_EVENT_NUMBER kit_over_at(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep)
{
	DAT_EVENT event = kit_event_at(evd);

	if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED &&
	    event.event_number != DAT_CONNECTION_EVENT_BROKEN)
		MUST_NOT_COME_HERE("the next event", "DISCONNECTED or BROKEN", "%s (0x%x)",
				   kit_event_name(event.event_number),
				   (unsigned int)event.event_number);
	MUST(event.event_data.connect_event_data.ep_handle == ep);
	judge_outcome("%s", kit_event_name(event.event_number));
	return event.event_number;
}

DAT_DTO_COMPLETION_EVENT_DATA kit_dto_at(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie,
					 DAT_DTO_COMPLETION_STATUS status, const char *name)
{
	DAT_EVENT event = kit_event_at(evd);
	DAT_DTO_COMPLETION_EVENT_DATA *data = &event.event_data.dto_completion_event_data;

	if (event.event_number != DAT_DTO_COMPLETION_EVENT)
		MUST_NOT_COME_HERE("the next event", "DAT_DTO_COMPLETION_EVENT", "%s (0x%x)",
				   kit_event_name(event.event_number),
				   (unsigned int)event.event_number);
	CHECK_THAT(data->ep_handle == ep);
	CHECK_NUM(data->user_cookie.as_64, cookie);
	if (data->status != status)
		CHECK_FAIL("the completion's status", name, "%d", (int)data->status);
	return *data;
}

void kit_se_at(DAT_EVD_HANDLE evd, uint64_t number)
{
	DAT_EVENT event = kit_event_at(evd);

	MUST_NUM(event.event_number, DAT_SOFTWARE_EVENT);
	MUST_NUM((uintptr_t)event.event_data.software_event_data.pointer, number);
}

void kit_empty_at(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	CHECK_RET(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
}

void kit_quiet_at(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	CHECK_RET(dat_evd_wait(evd, t.quiet_ms * 1000, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
}

DAT_RETURN kit_connect_data(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual, DAT_COUNT size, const void *data)
{
	return dat_ep_connect(ep, kit_address_of(t.b_remote), qual, 4 * kit_patience(), size,
			      (DAT_PVOID)data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

DAT_RETURN kit_connect(DAT_EP_HANDLE ep, DAT_CONN_QUAL qual)
{
	return kit_connect_data(ep, qual, 0, NULL);
}

DAT_IA_ADDRESS_PTR kit_address_of(bool remote)
{
	return remote ? t.remote.address : t.attr.ia_address_ptr;
}

bool kit_same_address(const void *one, const void *other)
{
	const struct sockaddr_in *in[] = { one, other };
	const struct sockaddr_in6 *in6[] = { one, other };

	if (in[0]->sin_family != in[1]->sin_family)
		return false;
	if (in[0]->sin_family == AF_INET)
		return in[0]->sin_addr.s_addr == in[1]->sin_addr.s_addr;
	return !memcmp(&in6[0]->sin6_addr, &in6[1]->sin6_addr, sizeof(in6[0]->sin6_addr));
}

/*
 * Returns a connection qualifier that is free: this has listened at it for a moment. It is drawn from
 * 2^61 numbers, so that no other program or test draws the same one before the caller uses it. If a
 * provider does not support numbers of this size, the provider chooses.
 */
DAT_CONN_QUAL kit_unused_qual(void)
{
	DAT_EVD_HANDLE evd = kit_evd_at(kit_ia_b(), 4, DAT_EVD_CR_FLAG, DAT_HANDLE_NULL);
	DAT_CONN_QUAL qual = 0;
	DAT_PSP_HANDLE psp;

	MUST(getrandom(&qual, sizeof(qual), 0) == sizeof(qual));
	qual = qual >> 2 | (DAT_CONN_QUAL)1 << 61;
	if (dat_psp_create(kit_ia_b(), qual, evd, DAT_PSP_CONSUMER_FLAG, &psp) != DAT_SUCCESS)
		psp = kit_psp_at(evd, DAT_PSP_CONSUMER_FLAG, &qual);
	MUST_RET(dat_psp_free(psp), DAT_SUCCESS);
	MUST_RET(dat_evd_free(evd), DAT_SUCCESS);
	return qual;
}

DAT_CR_HANDLE kit_cr_at(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event = kit_event_at(evd);

	if (event.event_number != DAT_CONNECTION_REQUEST_EVENT)
		MUST_NOT_COME_HERE("the next event", "DAT_CONNECTION_REQUEST_EVENT", "%s (0x%x)",
				   kit_event_name(event.event_number),
				   (unsigned int)event.event_number);
	return event.event_data.cr_arrival_event_data.cr_handle;
}

void kit_pair_unconnected_at(struct kit_pair *pair, const DAT_EP_ATTR *attr)
{
	kit_end_at(t.a_remote, &pair->a, attr);
	kit_end_at(t.b_remote, &pair->b, attr);
	pair->cr_evd = kit_evd_at(kit_ia_b(), 8, DAT_EVD_CR_FLAG, DAT_HANDLE_NULL);
	pair->psp = kit_psp_at(pair->cr_evd, DAT_PSP_CONSUMER_FLAG, &pair->qual);
}

void kit_pair_connect_at(struct kit_pair *pair)
{
	MUST_RET(kit_connect(pair->a.ep, pair->qual), DAT_SUCCESS);
	MUST_RET(dat_cr_accept(kit_cr_at(pair->cr_evd), pair->b.ep, 0, NULL), DAT_SUCCESS);
	kit_conn_at(pair->b.connect, pair->b.ep, DAT_CONNECTION_EVENT_ESTABLISHED, "ESTABLISHED");
	kit_conn_at(pair->a.connect, pair->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, "ESTABLISHED");
}

void kit_pair_at(struct kit_pair *pair, const DAT_EP_ATTR *attr)
{
	kit_pair_unconnected_at(pair, attr);
	kit_pair_connect_at(pair);
}

void kit_disconnect_at(struct kit_pair *pair)
{
	MUST_RET(dat_ep_disconnect(pair->a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	kit_conn_at(pair->a.connect, pair->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, "DISCONNECTED");
	kit_conn_at(pair->b.connect, pair->b.ep, DAT_CONNECTION_EVENT_DISCONNECTED, "DISCONNECTED");
}

void kit_reconnect_at(struct kit_pair *pair)
{
	MUST_RET(dat_ep_reset(pair->a.ep), DAT_SUCCESS);
	MUST_RET(dat_ep_reset(pair->b.ep), DAT_SUCCESS);
	kit_pair_connect_at(pair);
}

/*
 * Checks a refusal that only the end of the connection shows. A write may have completed when it
 * was sent.
 */
static void refused_untold(struct kit_pair *pair, uint64_t cookie, bool write)
{
	DAT_EVENT event = kit_event_at(pair->a.request);

	MUST_NUM(event.event_number, DAT_DTO_COMPLETION_EVENT);
	CHECK_NUM(event.event_data.dto_completion_event_data.user_cookie.as_64, cookie);
	CHECK_THAT(write ||
		   event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS);
	kit_over_at(pair->a.connect, pair->a.ep);
	kit_over_at(pair->b.connect, pair->b.ep);
}

void kit_remote_access_at(struct kit_pair *pair, uint64_t cookie, bool write)
{
	if (!judge_refusals_are_told()) {
		refused_untold(pair, cookie, write);
		return;
	}
	kit_dto_at(pair->a.request, pair->a.ep, cookie, DAT_DTO_ERR_REMOTE_ACCESS,
		   "DAT_DTO_ERR_REMOTE_ACCESS");
	kit_conn_at(pair->a.connect, pair->a.ep, DAT_CONNECTION_EVENT_BROKEN,
		    "DAT_CONNECTION_EVENT_BROKEN");
	kit_over_at(pair->b.connect, pair->b.ep);
}

void kit_exchange_at(struct kit_end *from, struct kit_end *to)
{
	static unsigned int seed = 1000;
	struct kit_buf source = kit_buf_at(kit_pz_of(remote_is(from->ep)), 256, KIT_LOCAL),
		       sink = kit_buf_at(kit_pz_of(remote_is(to->ep)), 256, KIT_LOCAL);

	kit_buf_fill(&source, 0, 256, ++seed);
	MUST_RET(kit_recv(to->ep, &sink, 0, 256, seed), DAT_SUCCESS);
	MUST_RET(kit_send(from->ep, &source, 0, 256, seed, DAT_COMPLETION_DEFAULT_FLAG),
		 DAT_SUCCESS);
	kit_dto_at(to->recv, to->ep, seed, DAT_DTO_SUCCESS, "DAT_DTO_SUCCESS");
	kit_dto_at(from->request, from->ep, seed, DAT_DTO_SUCCESS, "DAT_DTO_SUCCESS");
	MUST(kit_buf_filled(&sink, 0, 256, seed));
}

static void *wait_thread(void *arg)
{
	struct kit_waiter *w = arg;

	__atomic_store_n(&w->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	if (w->cno)
		w->ret = dat_cno_wait(w->cno, w->timeout, &w->hint);
	else
		w->ret = dat_evd_wait(w->evd, w->timeout, w->threshold, &w->event, &w->nmore);
	__atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * Returns a line of a file in /proc about a thread of this process, or "" if there is no such
 * thread.
 */
static const char *task_line(pid_t tid, const char *name, char *line, int size)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", (int)tid, name);
	file = fopen(path, "r");
	if (!file || !fgets(line, size, file))
		*line = '\0';
	if (file)
		fclose(file);
	return line;
}

/*
 * Returns true if a thread is runnable and has not run on a processor for a millisecond since
 * `ran`, in nanoseconds. A thread that polls is always runnable, and does run.
 */
static bool is_starved(pid_t tid, unsigned long long ran)
{
	char line[512];
	const char *state = strrchr(task_line(tid, "stat", line, sizeof(line)), ')');

	if (!state || state[1] != ' ' || state[2] != 'R')
		return false;
	return *task_line(tid, "schedstat", line, sizeof(line)) &&
	       strtoull(line, NULL, 10) - ran < 1000000;
}

/*
 * Waits until a thread has had enough time to block in its call. Nothing shows from outside that it
 * blocks. On a busy machine the thread first waits for a processor, which takes longer.
 */
static void give_time(struct kit_waiter *w)
{
	pid_t tid = __atomic_load_n(&w->tid, __ATOMIC_ACQUIRE);
	uint64_t until = judge_now_ms() + t.patience_ms;
	unsigned long long ran;
	char line[128];

	ran = strtoull(task_line(tid, "schedstat", line, sizeof(line)), NULL, 10);
	kit_sleep_ms(t.quiet_ms);
	while (is_starved(tid, ran) && judge_now_ms() < until)
		kit_sleep_ms(1);
}

bool kit_still_waits(struct kit_waiter *w)
{
	give_time(w);
	return !kit_wait_done(w);
}

static void start(struct kit_waiter *w)
{
	/* The other process executes one step at a time: a step that waits would keep the test from the next step. */
	MUST(!remote_is(w->evd));
	w->timeout = 4 * kit_patience();
	MUST(pthread_create(&w->thread, NULL, wait_thread, w) == 0);
	MUST_SOON(__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE) != 0);
	give_time(w);
}

void kit_wait_start_at(struct kit_waiter *w, DAT_EVD_HANDLE evd, DAT_COUNT threshold)
{
	memset(w, 0, sizeof(*w));
	w->evd = evd;
	w->threshold = threshold;
	start(w);
}

void kit_cno_wait_start_at(struct kit_waiter *w, DAT_CNO_HANDLE cno)
{
	memset(w, 0, sizeof(*w));
	w->cno = cno;
	w->hint = KIT_BAD;
	start(w);
}

bool kit_wait_done(struct kit_waiter *w)
{
	return __atomic_load_n(&w->done, __ATOMIC_ACQUIRE);
}

void kit_wait_end_at(struct kit_waiter *w)
{
	struct timespec until;

	if (w->joined)
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += t.patience_ms / 1000 + 1;
	if (pthread_timedjoin_np(w->thread, NULL, &until))
		MUST_NOT_COME_HERE("a thread in dat_evd_wait() or dat_cno_wait()", "it returns",
				   "it blocks");
	w->joined = true;
}

static struct {
	pthread_barrier_t start;
	int (*work)(int who);
} together;

static void *together_thread(void *arg)
{
	pthread_barrier_wait(&together.start);
	return (void *)(intptr_t)together.work((int)(intptr_t)arg);
}

int kit_together_at(int (*work)(int who))
{
	pthread_t threads[4];
	int failures = 0;

	together.work = work;
	MUST(pthread_barrier_init(&together.start, NULL, 4) == 0);
	for (intptr_t i = 0; i < 4; i++)
		MUST(pthread_create(&threads[i], NULL, together_thread, (void *)i) == 0);
	for (int i = 0; i < 4; i++) {
		void *ret;

		pthread_join(threads[i], &ret);
		failures += (int)(intptr_t)ret;
	}
	pthread_barrier_destroy(&together.start);
	return failures;
}

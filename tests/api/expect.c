/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Expectations of events and states, and threads that wait. A failure names the line of the test.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api.h"

void api_event_at(DAT_EVD_HANDLE evd, DAT_EVENT *event, const char *file, unsigned int line)
{
	DAT_COUNT nmore;

	memset(event, 0xa5, sizeof(*event));
	check_dat(dat_evd_wait(evd, api_patience(), 1, event, &nmore), DAT_SUCCESS, true,
		  "the next event (dat_evd_wait)", "DAT_SUCCESS", file, line);
	check_true(event->evd_handle == evd, false, "the event names its EVD", file, line);
}

/* Describes an unexpected event, for the message. */
static const char *event_text(const DAT_EVENT *event, char *text, size_t size)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		snprintf(text, size, "a completion (cookie %llu, status %d, length %llu)",
			 (unsigned long long)dto->user_cookie.as_64, (int)dto->status,
			 (unsigned long long)dto->transfered_length);
	else
		snprintf(text, size, "event 0x%x", (unsigned int)event->event_number);
	return text;
}

static void want_number(const DAT_EVENT *event, DAT_EVENT_NUMBER number, const char *name,
			const char *file, unsigned int line)
{
	char text[128];

	if (event->event_number != number)
		check_fail(true, file, line, "got %s, wanted %s (0x%x)",
			   event_text(event, text, sizeof(text)), name, (unsigned int)number);
}

DAT_EVENT api_conn_at(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number,
		      const char *name, const char *file, unsigned int line)
{
	bool up = number == DAT_CONNECTION_EVENT_ESTABLISHED;
	DAT_EP_HANDLE of;
	DAT_EVENT event;

	api_event_at(evd, &event, file, line);
	want_number(&event, number, name, file, line);
	of = event.event_data.connect_event_data.ep_handle;
	check_true(!ep || of == ep, false, "the event names its endpoint", file, line);
	/*
	 * The state has changed before the event is seen; the peer may end a connection again
	 * meanwhile.
	 */
	if (up)
		check_true(api_state(of) == DAT_EP_STATE_CONNECTED ||
				   api_state(of) == DAT_EP_STATE_DISCONNECTED,
			   false, "the endpoint was CONNECTED before the event", file, line);
	else
		api_state_at(of, DAT_EP_STATE_DISCONNECTED, "DAT_EP_STATE_DISCONNECTED", file,
			     line);
	return event;
}

void api_conn_over_at(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, const char *file, unsigned int line)
{
	DAT_EVENT event;

	api_event_at(evd, &event, file, line);
	if (event.event_number != DAT_CONNECTION_EVENT_BROKEN)
		want_number(&event, DAT_CONNECTION_EVENT_DISCONNECTED, "DISCONNECTED or BROKEN",
			    file, line);
	check_true(event.event_data.connect_event_data.ep_handle == ep, false,
		   "the event names its endpoint", file, line);
	api_state_at(ep, DAT_EP_STATE_DISCONNECTED, "DAT_EP_STATE_DISCONNECTED", file, line);
}

void api_dto_at(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie,
		DAT_DTO_COMPLETION_STATUS status, const char *name, DAT_VLEN length,
		const char *file, unsigned int line)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;
	char text[128];

	api_event_at(evd, &event, file, line);
	want_number(&event, DAT_DTO_COMPLETION_EVENT, "a completion", file, line);
	dto = &event.event_data.dto_completion_event_data;
	check_true(dto->ep_handle == ep, false, "the completion names its endpoint", file, line);
	/* Programs read the endpoint through the connection event's member. */
	check_true(event.event_data.connect_event_data.ep_handle == ep, false,
		   "ep_handle is the first word of a completion", file, line);
	if (dto->user_cookie.as_64 != cookie || dto->status != status)
		check_fail(false, file, line, "got %s, wanted cookie %llu, status %s",
			   event_text(&event, text, sizeof(text)), (unsigned long long)cookie,
			   name);
	if (status == DAT_DTO_SUCCESS && length != API_ANY_LENGTH)
		check_int((long long)dto->transfered_length, (long long)length, false,
			  "transfered_length", file, line);
}

/*
 * Checks that the peer has refused an operation. If only the end of the connection shows that, the
 * operation may have completed before.
 */
void api_refused_at(const struct api_end *end, uint64_t cookie, const char *file, unsigned int line)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	if (!api_declares("refused_access", "ends")) {
		api_dto_at(end->request, end->ep, cookie, DAT_DTO_ERR_REMOTE_ACCESS,
			   "DAT_DTO_ERR_REMOTE_ACCESS", API_ANY_LENGTH, file, line);
		api_conn_at(end->connect, end->ep, DAT_CONNECTION_EVENT_BROKEN,
			    "DAT_CONNECTION_EVENT_BROKEN", file, line);
		return;
	}
	api_event_at(end->request, &event, file, line);
	want_number(&event, DAT_DTO_COMPLETION_EVENT, "a completion", file, line);
	dto = &event.event_data.dto_completion_event_data;
	check_true(dto->ep_handle == end->ep && dto->user_cookie.as_64 == cookie, false,
		   "the completion is the operation's", file, line);
	api_conn_over_at(end->connect, end->ep, file, line);
}

void api_bind_at(DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr, uint64_t cookie,
		 DAT_DTO_COMPLETION_STATUS status, const char *name, const char *file,
		 unsigned int line)
{
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind;
	DAT_EVENT event;

	api_event_at(evd, &event, file, line);
	want_number(&event, DAT_RMR_BIND_COMPLETION_EVENT, "a bind completion", file, line);
	bind = &event.event_data.rmr_completion_event_data;
	check_true(bind->rmr_handle == rmr, false, "the bind completion names its RMR", file, line);
	if (bind->user_cookie.as_64 != cookie || bind->status != status)
		check_fail(false, file, line,
			   "got a bind completion with cookie %llu, status %d, wanted %llu, %s",
			   (unsigned long long)bind->user_cookie.as_64, (int)bind->status,
			   (unsigned long long)cookie, name);
}

void api_se_at(DAT_EVD_HANDLE evd, uint64_t number, const char *file, unsigned int line)
{
	DAT_EVENT event;

	api_event_at(evd, &event, file, line);
	want_number(&event, DAT_SOFTWARE_EVENT, "DAT_SOFTWARE_EVENT", file, line);
	check_int((long long)(uintptr_t)event.event_data.software_event_data.pointer,
		  (long long)number, false, "the software event's pointer", file, line);
}

void api_empty_at(DAT_EVD_HANDLE evd, const char *file, unsigned int line)
{
	DAT_EVENT event;
	char text[128];

	if (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		check_fail(false, file, line, "got %s, wanted none",
			   event_text(&event, text, sizeof(text)));
}

void api_quiet_at(DAT_EVD_HANDLE evd, const char *file, unsigned int line)
{
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_RETURN ret = dat_evd_wait(evd, API_QUIET_MS * 1000, 1, &event, &nmore);
	char text[128];

	if (ret == DAT_SUCCESS)
		check_fail(false, file, line, "got %s, wanted none",
			   event_text(&event, text, sizeof(text)));
	else
		check_dat(ret, DAT_TIMEOUT_EXPIRED, false, "dat_evd_wait on a quiet EVD",
			  "DAT_TIMEOUT_EXPIRED", file, line);
}

DAT_EP_STATE api_state(DAT_EP_HANDLE ep)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state = (DAT_EP_STATE)-1;

	return dat_ep_get_status(ep, &state, &recv_idle, &request_idle) == DAT_SUCCESS
		       ? state
		       : (DAT_EP_STATE)-1;
}

void api_state_at(DAT_EP_HANDLE ep, DAT_EP_STATE state, const char *name, const char *file,
		  unsigned int line)
{
	DAT_EP_PARAM param;
	DAT_EP_STATE got = api_state(ep);

	if (got != state)
		check_fail(false, file, line, "the endpoint's state is %d, wanted %s (%d)",
			   (int)got, name, (int)state);
	memset(&param, 0xa5, sizeof(param));
	check_dat(dat_ep_query(ep, DAT_EP_FIELD_EP_STATE, &param), DAT_SUCCESS, false,
		  "dat_ep_query of the state", "DAT_SUCCESS", file, line);
	check_int(param.ep_state, state, false, "the state of dat_ep_query", file, line);
}

static void *wait_run(void *arg)
{
	struct api_waiter *waiter = arg;

	__atomic_store_n(&waiter->tid, gettid(), __ATOMIC_RELEASE);
	if (waiter->cno)
		waiter->ret = dat_cno_wait(waiter->cno, waiter->timeout, &waiter->hint);
	else
		waiter->ret = dat_evd_wait(waiter->evd, waiter->timeout, waiter->threshold,
					   &waiter->event, &waiter->nmore);
	__atomic_store_n(&waiter->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * Starts the thread, and returns when the thread sleeps, or its wait has returned. From outside, nothing but the sleep
 * shows that it waits.
 */
static void wait_launch(struct api_waiter *waiter)
{
	REQUIRE(pthread_create(&waiter->thread, NULL, wait_run, waiter) == 0);
	REQUIRE_SOON(check_sleeps(__atomic_load_n(&waiter->tid, __ATOMIC_ACQUIRE)) ||
		     api_wait_done(waiter));
}

/*
 * Starts a thread that waits on an EVD, whose queue has to be empty. The EVD then refuses to be
 * dequeued, which shows that the thread waits.
 */
void api_wait_start(struct api_waiter *waiter, DAT_EVD_HANDLE evd, DAT_COUNT threshold)
{
	DAT_EVENT event;

	*waiter = (struct api_waiter){ .evd = evd,
				       .timeout = api_patience(),
				       .threshold = threshold };
	wait_launch(waiter);
	REQUIRE_SOON(api_wait_done(waiter) ||
		     DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_INVALID_STATE);
}

void api_cno_wait_start(struct api_waiter *waiter, DAT_CNO_HANDLE cno)
{
	*waiter = (struct api_waiter){ .cno = cno,
				       .timeout = api_patience(),
				       .hint = (DAT_EVD_HANDLE)(uintptr_t)0xa5 };
	wait_launch(waiter);
}

bool api_wait_done(struct api_waiter *waiter)
{
	return __atomic_load_n(&waiter->done, __ATOMIC_ACQUIRE);
}

void api_wait_end(struct api_waiter *waiter)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 2 * check_patience_ms() / 1000;
	REQUIRE_EQ_INT(pthread_timedjoin_np(waiter->thread, NULL, &until), 0);
}

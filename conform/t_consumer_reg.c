/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What programs written for uDAPL 1.2 depend on beyond the specification's text: the headers, the
 * registry, the adapter and its handles.
 */
#include <ifaddrs.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit.h"


CLAUSE_BARE("CONSUMER-01")
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	CHECK_NUM(DAT_VERSION_MAJOR, API_MAJOR);
	CHECK_NUM(DAT_VERSION_MINOR, API_MINOR);
	CHECK_NUM(DAT_THREADSAFE, DAT_FALSE);
	MUST_RET(dat_ia_openv((char *)t.ia_name, 8, &async, &ia, API_MAJOR, API_MINOR, DAT_FALSE),
		 DAT_SUCCESS);
	CHECK_THAT(async != DAT_HANDLE_NULL);
	CHECK_RET(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

/* One thread accepts, another creates objects of its own and waits for them, and the test's thread connects. */
#define CONNECTIONS 10

static struct {
	struct kit_end passive[CONNECTIONS];
	DAT_EVD_HANDLE cr_evd;
	bool over;		/* atomic */
	int worked;		/* atomic; rounds of the worker */
	int accepted;		/* written by a thread, checked after it is joined */
	int bad_accepts, bad_works;
} threads;

static void *accept_all(void *arg)
{
	for (int i = 0; i < CONNECTIONS; i++) {
		DAT_EVENT event;
		DAT_COUNT nmore;

		if (dat_evd_wait(threads.cr_evd, 4 * kit_patience(), 1, &event, &nmore) !=
		    DAT_SUCCESS)
			return arg;
		if (dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
				  threads.passive[i].ep, 0, NULL) != DAT_SUCCESS)
			threads.bad_accepts++;
		threads.accepted++;
	}
	return arg;
}

static int work_once(void)
{
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	DAT_EVENT event;
	DAT_COUNT nmore;
	int bad = 0;

	if (dat_evd_create(t.ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd) != DAT_SUCCESS ||
	    dat_pz_create(t.ia, &pz) != DAT_SUCCESS)
		return 1;
	bad += kit_post_se(evd, 1) != DAT_SUCCESS;
	bad += dat_evd_wait(evd, kit_patience(), 1, &event, &nmore) != DAT_SUCCESS;
	bad += DAT_GET_TYPE(dat_evd_wait(evd, 100, 1, &event, &nmore)) != DAT_TIMEOUT_EXPIRED;
	bad += dat_evd_free(evd) != DAT_SUCCESS;
	bad += dat_pz_free(pz) != DAT_SUCCESS;
	return bad;
}

static void *work(void *arg)
{
	while (!__atomic_load_n(&threads.over, __ATOMIC_ACQUIRE)) {
		threads.bad_works += work_once();
		__atomic_fetch_add(&threads.worked, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

CLAUSE("CONSUMER-02")
{
	pthread_t acceptor, worker;
	DAT_CONN_QUAL qual;
	struct kit_end a;

	threads.cr_evd = kit_evd(16, DAT_EVD_CR_FLAG);
	kit_psp(threads.cr_evd, &qual);
	for (int i = 0; i < CONNECTIONS; i++)
		kit_end(&threads.passive[i], NULL);
	MUST(pthread_create(&acceptor, NULL, accept_all, NULL) == 0);
	MUST(pthread_create(&worker, NULL, work, NULL) == 0);
	/* Waits for the worker, because on a loaded machine the rest may be over before a new thread runs. */
	MUST_SOON(__atomic_load_n(&threads.worked, __ATOMIC_RELAXED) > 0);
	for (int i = 0; i < CONNECTIONS; i++) {
		kit_end(&a, NULL);
		MUST_RET(kit_connect(a.ep, qual), DAT_SUCCESS);
		kit_conn(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		kit_exchange(&a, &threads.passive[i]);
		MUST_RET(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		kit_conn(a.connect, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		MUST_RET(dat_ep_free(a.ep), DAT_SUCCESS);
	}
	__atomic_store_n(&threads.over, true, __ATOMIC_RELEASE);
	MUST(pthread_join(worker, NULL) == 0 && pthread_join(acceptor, NULL) == 0);
	CHECK_NUM(threads.accepted, CONNECTIONS);
	CHECK_NUM(threads.bad_accepts, 0);
	CHECK_NUM(threads.bad_works, 0);
}

CLAUSE_BARE("CONSUMER-03")
{
	DAT_EP_ATTR attr = { 0 };

	attr.max_mtu_size = 77;
	CHECK_NUM(attr.max_message_size, 77);
	CHECK_THAT(DAT_IA_ALL == DAT_IA_FIELD_ALL);
	CHECK_NUM(DAT_CLOSE_DEFAULT, DAT_CLOSE_ABRUPT_FLAG);
}

/* Reads the endpoint of a completion through the union member of another kind of event. */
static void want_handle(struct kit_end *end, DAT_EVD_HANDLE evd)
{
	DAT_EVENT event = kit_event(evd);

	CHECK_NUM(event.event_number, DAT_DTO_COMPLETION_EVENT);
	CHECK_THAT(event.event_data.connect_event_data.ep_handle == end->ep);
}

CLAUSE("CONSUMER-04")
{
	struct kit_buf buf = kit_buf(4096, KIT_REMOTE);
	struct kit_pair p;

	kit_pair(&p, NULL);
	MUST_RET(kit_recv(p.b.ep, &buf, 0, 64, 1), DAT_SUCCESS);
	MUST_RET(kit_recv(p.b.ep, &buf, 64, 64, 2), DAT_SUCCESS);
	MUST_RET(kit_send(p.a.ep, &buf, 128, 64, 3, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	want_handle(&p.b, p.b.recv);
	want_handle(&p.a, p.a.request);
	MUST_RET(kit_write(p.a.ep, kit_seg(&buf, 0, 64), kit_target(&buf, 2048, 64), 4,
			   DAT_COMPLETION_DEFAULT_FLAG),
		 DAT_SUCCESS);
	want_handle(&p.a, p.a.request);
	kit_disconnect(&p);
	want_handle(&p.b, p.b.recv);	/* flushed */
}

CLAUSE("CONSUMER-05")
{
	DAT_PZ_HANDLE pz;
	DAT_EVENT event;
	DAT_RETURN ret = dat_pz_create(t.ia, &pz);

	CHECK_NUM(ret, 0);
	ret = dat_evd_dequeue(kit_evd(8, DAT_EVD_SOFTWARE_FLAG), &event);
	CHECK_THAT(ret != DAT_SUCCESS);
	CHECK_NUM(DAT_GET_TYPE(ret), DAT_QUEUE_EMPTY);
	ret = dat_pz_free(DAT_HANDLE_NULL);
	CHECK_THAT(ret != DAT_SUCCESS);
	CHECK_NUM(DAT_GET_TYPE(ret), DAT_INVALID_HANDLE);
}

CLAUSE_BARE("CONSUMER-06")
{
	static const DAT_RETURN types[] = {
		DAT_SUCCESS, DAT_ABORT, DAT_CONN_QUAL_IN_USE, DAT_INSUFFICIENT_RESOURCES,
		DAT_INTERNAL_ERROR, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
		DAT_LENGTH_ERROR, DAT_MODEL_NOT_SUPPORTED, DAT_PROVIDER_NOT_FOUND,
		DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION, DAT_QUEUE_EMPTY,
		DAT_QUEUE_FULL, DAT_TIMEOUT_EXPIRED, DAT_PROVIDER_ALREADY_REGISTERED,
		DAT_PROVIDER_IN_USE, DAT_INVALID_ADDRESS, DAT_INTERRUPTED_CALL,
		DAT_CONN_QUAL_UNAVAILABLE, DAT_NOT_IMPLEMENTED,
	};
	const char *major, *minor;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		major = minor = NULL;
		CHECK_RET(dat_strerror(types[i], &major, &minor), DAT_SUCCESS);
		CHECK_RET(dat_strerror(DAT_CLASS_ERROR | DAT_GET_TYPE(types[i]), &major, &minor),
			  DAT_SUCCESS);
		CHECK_THAT(major && minor);
	}
	/* Any number gets some answer, and no crash. */
	for (uint32_t i = 0, number = 1; i < 100000; i++, number = number * 2654435761u + 12345)
		dat_strerror((DAT_RETURN)number, &major, &minor);
}

static struct kit_list listed;

static DAT_COUNT list_all(void)
{
	DAT_COUNT n = -1;

	MUST(kit_list_make(&listed));
	MUST_RET(dat_registry_list_providers(listed.room, &n, listed.list), DAT_SUCCESS);
	MUST(n >= 1 && n <= listed.room);
	return n;
}

/* The list's entries behind the last provider are pointers whose use would crash. */
CLAUSE_BARE("CONSUMER-07")
{
	DAT_COUNT n = list_all(), again = -1;
	DAT_PROVIDER_INFO *first = &listed.infos[0], kept = *first, poison;

	memset(&poison, 0xa5, sizeof(poison));
	*first = poison;
	for (DAT_COUNT i = n; i < listed.room; i++)
		listed.list[i] = (DAT_PROVIDER_INFO *)(uintptr_t)8;
	CHECK_RET(dat_registry_list_providers(listed.room, &again, listed.list), DAT_SUCCESS);
	CHECK_NUM(again, n);
	CHECK_THAT(!strcmp(first->ia_name, kept.ia_name));
	for (DAT_COUNT i = 1; i < listed.room; i++)
		listed.list[i] = (DAT_PROVIDER_INFO *)(uintptr_t)8;
	*first = poison;
	CHECK_RET_IN(dat_registry_list_providers(1, &again, listed.list), DAT_SUCCESS,
		     DAT_INVALID_PARAMETER);
	if (n == 1)
		CHECK_THAT(!strcmp(first->ia_name, kept.ia_name));
}

/* What is found of another adapter, which is opened in a process of its own first: it is not under test, and may do anything. */
enum alone { FINE, SETS_ASYNC, CLOSES_NOT, ENDS, HANGS, UNTRIED };

/* Is added to the exit status, since the other adapter's own code may end the process with a status of its own. */
#define TELLS 100
/* A host may have a hundred adapters, and little room for processes. */
#define AT_A_TIME 16

static struct {
	pid_t pid; /* 0: none */
	enum alone found;
} *alone; /* one for each entry of the list */

static bool is_other(DAT_COUNT i)
{
	return listed.infos[i].dapl_version_major == API_MAJOR && strcmp(listed.infos[i].ia_name, t.ia_name) != 0;
}

static void open_alone(const char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	enum alone found = FINE;
	DAT_IA_HANDLE ia;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	judge_leave_to_parent();
	if (dat_ia_open((char *)(uintptr_t)name, 8, &async, &ia) != DAT_SUCCESS)
		found = async == DAT_HANDLE_NULL ? FINE : SETS_ASYNC;
	else if (dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS)
		found = CLOSES_NOT;
	_exit(TELLS + (int)found);
}

/* Starts the processes of the next batch, from entry `first` on. Returns where the batch ends. */
static DAT_COUNT start_batch(DAT_COUNT first, DAT_COUNT n)
{
	DAT_COUNT i;
	int running = 0;

	for (i = first; i < n && running < AT_A_TIME; i++) {
		pid_t pid;

		if (!is_other(i))
			continue;
		pid = fork();
		if (pid == 0)
			open_alone(listed.infos[i].ia_name);
		if (pid > 0) {
			alone[i].pid = pid;
			running++;
		} else if (running > 0) {
			break; /* there may be room when those that run have ended */
		} else {
			alone[i].found = UNTRIED;
		}
	}
	return i;
}

/* Waits for the process until this time, and ends it then. */
static enum alone await_alone(pid_t pid, uint64_t until)
{
	int status = 0;
	pid_t ended;

	while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && judge_now_ms() < until)
		judge_nap();
	if (ended == 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return HANGS;
	}
	if (ended < 0 || !WIFEXITED(status) || WEXITSTATUS(status) < TELLS || WEXITSTATUS(status) > TELLS + CLOSES_NOT)
		return ENDS;
	return (enum alone)(WEXITSTATUS(status) - TELLS);
}

/* Those of a batch are opened at the same time, so that all of it that hang take no longer than one. */
static void try_batch(DAT_COUNT first, DAT_COUNT end)
{
	uint64_t until = judge_now_ms() + t.patience_ms;

	for (DAT_COUNT i = first; i < end; i++)
		if (alone[i].pid)
			alone[i].found = await_alone(alone[i].pid, until);
}

/* Finds out which of the other adapters can be opened and closed here, and stores which cannot. */
static void try_others(DAT_COUNT n)
{
	static const char *const does[] = { [SETS_ASYNC] = "fails and sets *async_evd", [CLOSES_NOT] = "does not close",
					    [ENDS] = "ends the process that opens it", [HANGS] = "does not open in time",
					    [UNTRIED] = "is not tried, since no process can be started" };
	char left_out[400] = "";
	size_t len = 0;

	alone = calloc((size_t)n, sizeof(*alone));
	MUST(alone != NULL);
	for (DAT_COUNT first = 0, end; first < n; first = end) {
		end = start_batch(first, n);
		try_batch(first, end);
	}
	for (DAT_COUNT i = 0; i < n; i++) {
		if (alone[i].found == FINE || len >= sizeof(left_out))
			continue;
		len += (size_t)snprintf(left_out + len, sizeof(left_out) - len, "%s%s %s", len ? ", " : "", listed.infos[i].ia_name,
					does[alone[i].found]);
	}
	if (len)
		judge_outcome("left out: %s", left_out);
}

/*
 * Opens one adapter after the other, as programs do that look for one that works. Another adapter must not be the reason why this
 * one fails, so those that would stop the program are left out.
 */
CLAUSE_BARE("CONSUMER-08")
{
	DAT_COUNT n = list_all();
	bool found = false;

	try_others(n);
	for (DAT_COUNT i = 0; i < n; i++) {
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
		DAT_IA_HANDLE ia;
		DAT_RETURN closed;

		if (listed.infos[i].dapl_version_major != API_MAJOR || alone[i].found != FINE ||
		    dat_ia_open(listed.infos[i].ia_name, 8, &async, &ia) != DAT_SUCCESS)
			continue;
		closed = dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
		if (is_other(i))
			continue;
		found = true;
		CHECK_RET(closed, DAT_SUCCESS);
	}
	CHECK_THAT(found);
}

/* Uses a registry with one line, whose library does not exist. */
static void use_dead_registry(void)
{
	static const char line[] = "dead0 u" API_NAME " nonthreadsafe default /nonexistent/lib.so x.1.0 "
				   "\"\" \"\"\n";
	char path[64];
	int fd = memfd_create("dat.conf", 0);

	MUST(fd >= 0 && write(fd, line, sizeof(line) - 1) == (ssize_t)sizeof(line) - 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	MUST(lseek(fd, 0, SEEK_SET) == 0 && setenv("DAT_OVERRIDE", path, 1) == 0);
	unsetenv("DAT_DBG_TYPE");
	unsetenv("DAT_DBG_DEST");
}

CLAUSE_BARE("CONSUMER-09")
{
	int said = memfd_create("said", 0);
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = KIT_BAD;
	uint64_t before;
	DAT_RETURN ret;

	use_dead_registry();
	MUST(list_all() == 1 && !strcmp(listed.infos[0].ia_name, "dead0"));
	MUST(said >= 0 && dup2(said, STDOUT_FILENO) >= 0 && dup2(said, STDERR_FILENO) >= 0);
	before = judge_now_ms();
	ret = dat_ia_open(listed.infos[0].ia_name, 8, &async, &ia);
	CHECK_THAT(judge_now_ms() - before < t.patience_ms);
	fflush(NULL);
	CHECK_RET(ret, DAT_PROVIDER_NOT_FOUND);
	CHECK_NUM(lseek(said, 0, SEEK_END), 0);
	CHECK_THAT(async == DAT_HANDLE_NULL && ia == KIT_BAD);
}

/* The program has never written the handle, which holds what was on the stack. */
CLAUSE_BARE("CONSUMER-10")
{
	static const uintptr_t junk[] = { 0, 1, 0xa5a5a5a5, 0xdeadbeefdeadbee8, 64, ~0ull };
	char name[] = "datconform-nobody";

	for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++) {
		DAT_EVD_HANDLE async = (DAT_EVD_HANDLE)junk[i];
		DAT_IA_HANDLE ia = KIT_BAD;

		CHECK_RET(dat_ia_open(name, 8, &async, &ia), DAT_PROVIDER_NOT_FOUND);
		CHECK_THAT(async == (DAT_EVD_HANDLE)junk[i]);
	}
}

CLAUSE("CONSUMER-11")
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_ATTR attr;

	CHECK_RET(dat_ia_query(t.ia, &async, DAT_IA_ALL, &attr, 0, NULL), DAT_SUCCESS);
	CHECK_THAT(async == t.async);
	CHECK_RET(dat_ia_query(t.ia, &async, DAT_IA_ALL, NULL, 0, NULL), DAT_INVALID_PARAMETER);
}

/* What the peer gets by other means, so that it can connect. */
struct card {
	struct sockaddr_in address;	/* 16 bytes of the address from dat_ia_query */
	DAT_CONN_QUAL qual;
};

static void connect_by_card(int fd)
{
	struct card card;
	struct kit_end a;
	char word = 0;

	kit_open();
	peer_hear(fd, &card, sizeof(card));
	kit_end(&a, NULL);
	MUST_RET(dat_ep_connect(a.ep, (DAT_IA_ADDRESS_PTR)&card.address, card.qual,
				4 * kit_patience(), 0, NULL, DAT_QOS_BEST_EFFORT,
				DAT_CONNECT_DEFAULT_FLAG),
		 DAT_SUCCESS);
	kit_conn(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	peer_tell(fd, &word, 1);
	peer_hear(fd, &word, 1);
	kit_close();
}

CLAUSE_BARE("CONSUMER-12")
{
	int fd = peer_start(connect_by_card);
	struct card card;
	struct kit_end b;
	DAT_EVD_HANDLE cr_evd;
	char word;

	kit_open();
	NEEDS_REACH();
	MUST(t.attr.ia_address_ptr != NULL);
	memcpy(&card.address, t.attr.ia_address_ptr, sizeof(card.address));
	CHECK_NUM(sizeof(card.address), 16);
	CHECK_NUM(card.address.sin_family, AF_INET);
	kit_end(&b, NULL);
	cr_evd = kit_evd(8, DAT_EVD_CR_FLAG);
	kit_psp(cr_evd, &card.qual);
	peer_tell(fd, &card, sizeof(card));
	MUST_RET(dat_cr_accept(kit_cr(cr_evd), b.ep, 0, NULL), DAT_SUCCESS);
	kit_conn(b.connect, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	peer_hear(fd, &word, 1);
	/* The pointer from the query is valid as long as the adapter is open. */
	CHECK_THAT(!memcmp(&card.address, t.attr.ia_address_ptr, sizeof(card.address)));
	peer_tell(fd, &word, 1);
}

/* Returns true if this is the address of an interface of this host. *real: there are others than the loopback. */
static bool of_interface(struct in_addr want, bool *real)
{
	struct ifaddrs *all, *one;
	bool found = false;

	MUST(getifaddrs(&all) == 0);
	for (one = all; one; one = one->ifa_next) {
		struct sockaddr_in in;

		if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET)
			continue;
		memcpy(&in, one->ifa_addr, sizeof(in));
		*real |= ntohl(in.sin_addr.s_addr) >> 24 != 127;
		found |= in.sin_addr.s_addr == want.s_addr;
	}
	freeifaddrs(all);
	return found;
}

CLAUSE("CONSUMER-13")
{
	struct sockaddr_in in;
	bool real = false;

	memcpy(&in, t.attr.ia_address_ptr, sizeof(in));
	CHECK_THAT(of_interface(in.sin_addr, &real));
	CHECK_THAT(!real || ntohl(in.sin_addr.s_addr) >> 24 != 127);
}

CLAUSE("CONSUMER-14")
{
	struct kit_pair p;
	DAT_IA_HANDLE ia = t.ia;

	kit_pair(&p, NULL);
	CHECK_RET(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	kit_exchange(&p.a, &p.b);
	CHECK_NUM(kit_state(p.a.ep), DAT_EP_STATE_CONNECTED);
	MUST_RET(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	t.ia = DAT_HANDLE_NULL;
	kit_open();
	kit_pair(&p, NULL);
	kit_exchange(&p.a, &p.b);
}

CLAUSE("CONSUMER-15")
{
	struct kit_buf buf = kit_buf(4096, KIT_LOCAL);
	DAT_EVD_HANDLE evd = kit_evd(8, DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE variable = evd;
	DAT_PZ_HANDLE pz = kit_pz();
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	DAT_EVD_PARAM evd_param;
	DAT_EP_PARAM ep_param;

	MUST_RET(dat_pz_free(pz), DAT_SUCCESS);
	CHECK_RET(dat_ep_create(t.ia, pz, evd, evd, DAT_HANDLE_NULL, NULL, &ep),
		  DAT_INVALID_HANDLE);
	CHECK_RET(dat_pz_free(pz), DAT_INVALID_HANDLE);
	CHECK_RET(dat_ep_query(buf.lmr, DAT_EP_FIELD_ALL, &ep_param), DAT_INVALID_HANDLE);
	CHECK_RET(dat_evd_query(t.pz, DAT_EVD_FIELD_ALL, &evd_param), DAT_INVALID_HANDLE);
	CHECK_RET(dat_lmr_free(&buf.lmr), DAT_INVALID_HANDLE);
	CHECK_RET(dat_evd_free((DAT_EVD_HANDLE)&variable), DAT_INVALID_HANDLE);
	MUST_RET(dat_ia_close(t.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat_lmr_free(buf.lmr), DAT_INVALID_HANDLE);
	CHECK_RET(dat_evd_free(evd), DAT_INVALID_HANDLE);
	CHECK_RET(dat_ia_close(t.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_HANDLE);
	t.ia = DAT_HANDLE_NULL;
}

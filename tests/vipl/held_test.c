/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer holds up a thread of the victim in a copy: its memory is under userfaultfd(2), and it ends the fault when it likes. Other
 * connections of the victim's NIC are made and end meanwhile. The victim is the test itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "world.h"

enum { LENGTH = 1048576, PAGE = 4096 };

static struct side s;	/* the victim */
static struct side other; /* another VI of the victim's NIC */
static struct side mate;  /* a third one, with the completion queue of the first */
static struct side caller; /* the same; it calls a peer that does not come */
static struct side honest; /* a NIC of its own */
static pid_t peer;

/* ------------------------------------------------------------------ the attacker */

static uint8_t *trap;
static int faults;

static bool trap_set(void)
{
	struct uffdio_api version = { .api = UFFD_API };
	struct uffdio_register all = { .range = { (uintptr_t)trap, LENGTH }, .mode = UFFDIO_REGISTER_MODE_MISSING };

	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (faults < 0 && (errno == EPERM || errno == ENOSYS))
		return false;
	REQUIRE(faults >= 0 && ioctl(faults, UFFDIO_API, &version) == 0);
	REQUIRE(madvise(trap, LENGTH, MADV_DONTNEED) == 0 && ioctl(faults, UFFDIO_REGISTER, &all) == 0);
	return true;
}

/* Waits until so many threads are in the trap. */
static void trap_await(int threads)
{
	struct pollfd fault = { .fd = faults, .events = POLLIN };
	struct uffd_msg message;

	for (int i = 0; i < threads; i++) {
		REQUIRE(poll(&fault, 1, (int)check_patience_ms()) == 1 && fault.revents == POLLIN);
		REQUIRE(read(faults, &message, sizeof(message)) == (ssize_t)sizeof(message));
	}
}

static void trap_release(void)
{
	struct uffdio_zeropage all = { .range = { (uintptr_t)trap, LENGTH } };

	REQUIRE(ioctl(faults, UFFDIO_ZEROPAGE, &all) == 0);
	close(faults);
}

static VIP_DESCRIPTOR *big(struct side *side, uint8_t *at, VIP_MEM_HANDLE handle)
{
	VIP_DESCRIPTOR *d = prepare(side, 0, 0);

	d->CS.SegCount = 1;
	d->CS.Length = LENGTH;
	d->DS[0].Local.Data.Address = at;
	d->DS[0].Local.Handle = handle;
	d->DS[0].Local.Length = LENGTH;
	return d;
}

static uint8_t *map(void)
{
	uint8_t *at = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(at != MAP_FAILED);
	return at;
}

static VIP_MEM_HANDLE trap_handle;

static void *part(void *arg)
{
	(void)arg;
	VipDisconnect(s.vi);
	return NULL;
}

static _Atomic bool sent;

/* The attacker's own thread may be held up, too. */
static void *send_trap(void *arg)
{
	(void)arg;
	VipPostSend(s.vi, big(&s, trap, trap_handle), s.handle);
	atomic_store(&sent, true);
	return NULL;
}

/* Sends the message, and returns when it is on its way, or when a thread is in the trap. */
static void send_aside(pthread_t *thread)
{
	struct pollfd fault = { .fd = faults, .events = POLLIN };

	REQUIRE(pthread_create(thread, NULL, send_trap, NULL) == 0);
	REQUIRE_SOON(atomic_load(&sent) || poll(&fault, 1, 0) == 1);
	check_signal(CHECK_PARENT);
}

/*
 * Holds up the victim by a message that it receives, or by one that it sends to the victim. The receiver can disconnect. So many
 * threads, its own and the victim's, are to be in the trap.
 */
static void attack(bool receives, int threads)
{
	VIP_MEM_ATTRIBUTES attr = { NULL, VIP_FALSE, VIP_FALSE };
	pthread_t thread;
	bool set;

	side_open_vi(&s);
	trap = map();
	REQUIRE_VIP(VipRegisterMem(s.nic, trap, LENGTH, &attr, &trap_handle), VIP_SUCCESS);
	set = trap_set();
	check_put(CHECK_PARENT, &set, sizeof(set));
	if (!set)
		_exit(0);
	check_await(CHECK_PARENT);
	if (receives)
		REQUIRE_VIP(VipPostRecv(s.vi, big(&s, trap, trap_handle), s.handle), VIP_SUCCESS);
	client_connect(&s, "victim");
	if (!receives)
		send_aside(&thread);
	trap_await(threads);
	check_signal(CHECK_PARENT);
	check_await(CHECK_PARENT);
	if (receives)
		REQUIRE(pthread_create(&thread, NULL, part, NULL) == 0);
	check_await(CHECK_PARENT);
	trap_release();
	pthread_join(thread, NULL);
	_exit(0);
}

static void receive_into_the_trap(void *arg)
{
	(void)arg;
	attack(true, 1);
}

static void send_from_the_trap(void *arg)
{
	(void)arg;
	attack(false, 1);
}

/* The thread that waits is not told of a message that is held up on its way. The one that calls a peer finds it. */
static void send_from_the_trap_to_a_waiter(void *arg)
{
	(void)arg;
	attack(false, 2);
}

/* ------------------------------------------------------------------ the victim */

static struct {
	uint8_t *memory; /* for the attacker's message, or with the victim's */
	VIP_MEM_HANDLE handle;
	uint8_t *page; /* unrelated memory */
	VIP_MEM_HANDLE page_handle;
	pthread_t thread; /* the one that is held up */
	bool runs;
	_Atomic pid_t tid;
	_Atomic bool stop;
	_Atomic bool returned;
} held;

static void *post(void *arg)
{
	(void)arg;
	atomic_store(&held.tid, gettid());
	VipPostSend(s.vi, big(&s, held.memory, held.handle), s.handle);
	atomic_store(&held.returned, true);
	return NULL;
}

static void *poll_receives(void *arg)
{
	VIP_BOOLEAN recv;
	VIP_DESCRIPTOR *d;
	VIP_VI_HANDLE vi;

	(void)arg;
	atomic_store(&held.tid, gettid());
	while (!atomic_load(&held.stop) && (s.cq != NULL ? VipCQDone(s.cq, &vi, &recv) : VipRecvDone(s.vi, &d)) == VIP_NOT_DONE)
		;
	atomic_store(&held.returned, true);
	return NULL;
}

/* The victim's handlers, which are called one after the other. */
static struct {
	_Atomic bool runs;
	_Atomic int received; /* by the other VI */
	_Atomic int lost;     /* connections of it */
	_Atomic int entries;  /* of the completion queue */
} handlers;

static void on_receive(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
	(void)context, (void)nic, (void)d;
	REQUIRE(!atomic_exchange(&handlers.runs, true));
	if (vi == s.vi)
		atomic_store(&held.returned, true);
	else
		atomic_fetch_add(&handlers.received, 1);
	atomic_store(&handlers.runs, false);
}

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
	(void)context;
	REQUIRE(!atomic_exchange(&handlers.runs, true));
	if (error->ViHandle == other.vi && error->ErrorCode == VIP_ERROR_CONN_LOST)
		atomic_fetch_add(&handlers.lost, 1);
	atomic_store(&handlers.runs, false);
}

static void on_entry(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_BOOLEAN recv)
{
	(void)context, (void)nic, (void)vi, (void)recv;
	REQUIRE(!atomic_exchange(&handlers.runs, true));
	atomic_fetch_add(&handlers.entries, 1);
	atomic_store(&handlers.runs, false);
}

/* The first such call has the queue watched, which polls it. */
static void *ask_for_a_handler(void *arg)
{
	(void)arg;
	atomic_store(&held.tid, gettid());
	VipRecvNotify(s.vi, NULL, on_receive);
	atomic_store(&held.returned, true);
	return NULL;
}

static void *wait_for_receives(void *arg)
{
	VIP_BOOLEAN recv;
	VIP_VI_HANDLE vi;

	(void)arg;
	atomic_store(&held.tid, gettid());
	while (VipCQWait(s.cq, VIP_INFINITE, &vi, &recv) == VIP_SUCCESS && vi != s.vi)
		;
	atomic_store(&held.returned, true);
	return NULL;
}

/* This handler of the other VI is called for a message of the honest side. */
static void ask_the_herald_for(VIP_VI_HANDLER handler)
{
	post_recv(&other, 1, 64);
	REQUIRE_VIP(VipRecvNotify(other.vi, NULL, handler), VIP_SUCCESS);
	post_send(&honest, 1, 8);
}

static void ask_the_herald(void)
{
	ask_the_herald_for(on_receive);
}

/* The thread polls, or posts at once, so it runs unless it is in the trap. That may be a sleep which signals do not end.
 * A thread that waits for receives sleeps before that, too. */
static bool is_held_up(void)
{
	char path[64], line[256];
	const char *state = NULL;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)atomic_load(&held.tid));
	stat = fopen(path, "re");
	if (stat != NULL && fgets(line, sizeof(line), stat) != NULL)
		state = strrchr(line, ')');
	if (stat != NULL)
		fclose(stat);
	return state != NULL && (state[2] == 'D' || state[2] == 'S') && !atomic_load(&held.returned);
}

static void ask_as_peer(struct side *side, const char *mine, const char *theirs)
{
	union address local, remote;

	address_make(side, mine, &local);
	address_make(side, theirs, &remote);
	REQUIRE_VIP(VipConnectPeerRequest(side->vi, &local.net, &remote.net, check_patience_ms()), VIP_SUCCESS);
}

/* The herald looks for the message of the attacker when it is told of another one. */
static void hold_up_the_herald(void)
{
	server_start(&other, "other");
	client_connect(&honest, "other");
	server_join(&other);
	ask_the_herald();
}

static void run_start(void *(*run)(void *))
{
	if (run == NULL) {
		hold_up_the_herald();
		return;
	}
	REQUIRE(pthread_create(&held.thread, NULL, run, NULL) == 0);
	held.runs = true;
	if (run == wait_for_receives)
		REQUIRE_SOON(atomic_load(&held.tid) != 0 && check_sleeps(atomic_load(&held.tid)));
}

static _Atomic bool destructor_may_end;

static void destructor(void *arg)
{
	(void)arg;
	while (!atomic_load(&destructor_may_end))
		check_nap();
}

static pthread_key_t key;
static bool leaves_data;

static void on_error_leave_data(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
	(void)error;
	REQUIRE(pthread_setspecific(key, &key) == 0);
	atomic_store((_Atomic bool *)context, true);
}

/* The herald has data of the program's, which a destructor is to free. */
static void leave_data(void)
{
	static _Atomic bool called;

	REQUIRE(pthread_key_create(&key, destructor) == 0);
	REQUIRE_VIP(VipErrorCallback(s.nic, &called, on_error_leave_data), VIP_SUCCESS);
	/* not in registered memory */
	REQUIRE_VIP(VipPostSend(other.vi, prepare(&other, 3, 8), 0), VIP_SUCCESS);
	REQUIRE_SOON(atomic_load(&called));
	side_drain(&other);
}

/* Has the attacker hold up a thread that runs this function; NULL stands for the herald. */
static void begin(void *(*run)(void *), bool with_cq)
{
	bool receives = run == post;
	VIP_MEM_ATTRIBUTES attr = { NULL, VIP_FALSE, VIP_FALSE };
	bool set;

	peer = check_fork(run == post		    ? receive_into_the_trap :
			  run == wait_for_receives || run == NULL ? send_from_the_trap_to_a_waiter :
								    send_from_the_trap,
			  NULL);
	check_get(peer, &set, sizeof(set));
	if (!set) {
		check_join(peer);
		peer = 0;
		check_skip("userfaultfd(2) for faults of the kernel is not allowed (vm.unprivileged_userfaultfd)");
	}
	side_open(&s);
	if (with_cq)
		REQUIRE_VIP(VipCreateCQ(s.nic, 64, &s.cq), VIP_SUCCESS);
	s.attr = (VIP_VI_ATTRIBUTES){
		.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY, .EnableRdmaWrite = VIP_TRUE, .EnableRdmaRead = VIP_TRUE
	};
	side_create_vi(&s);
	held.memory = map();
	held.page = map();
	REQUIRE_VIP(VipRegisterMem(s.nic, held.memory, LENGTH, &attr, &held.handle), VIP_SUCCESS);
	REQUIRE_VIP(VipRegisterMem(s.nic, held.page, PAGE, &attr, &held.page_handle), VIP_SUCCESS);
	/* a VI of the same NIC; it is not held up, and does not share a completion queue with one that is */
	other = (struct side){ .nic = s.nic, .nic_attr = s.nic_attr, .attr = s.attr, .block = s.block, .handle = s.handle };
	side_create_vi(&other);
	side_open_vi(&honest);
	if (!receives)
		REQUIRE_VIP(VipPostRecv(s.vi, big(&s, held.memory, held.handle), s.handle), VIP_SUCCESS);
	if (with_cq && run != NULL) {
		mate = other;
		mate.cq = s.cq;
		side_create_vi(&mate);
		sides_connect(&mate, &honest);
		post_recv(&mate, 2, 64);
		caller = other;
		caller.cq = s.cq;
		side_create_vi(&caller);
		ask_as_peer(&caller, "calls", "nobody");
	}
	/* a thread that waits sleeps in uDAPL when the message comes */
	if (run == wait_for_receives)
		run_start(run);
	if (leaves_data)
		leave_data();
	if (run == NULL) {
		REQUIRE_VIP(VipErrorCallback(s.nic, NULL, on_error), VIP_SUCCESS);
		if (with_cq)
			REQUIRE_VIP(VipCQNotify(s.cq, NULL, on_entry), VIP_SUCCESS);
		else
			REQUIRE_VIP(VipRecvNotify(s.vi, NULL, on_receive), VIP_SUCCESS);
	}
	server_start(&s, "victim");
	check_signal(peer);
	server_join(&s);
	if (!receives)
		check_await(peer);
	if (run != wait_for_receives)
		run_start(run);
	check_await(peer);
	if (run != NULL)
		REQUIRE_SOON(is_held_up());
}

static void exchange(void)
{
	post_recv(&other, 1, 64);
	post_send(&honest, 1, 8);
	expect_recv(&other, 1, VIP_STATUS_OP_RECEIVE);
	CHECK_VIP(VipDisconnect(honest.vi), VIP_SUCCESS);
	REQUIRE_SOON(state_of(&other) == VIP_STATE_ERROR);
	CHECK_VIP(VipDisconnect(other.vi), VIP_SUCCESS);
	side_drain(&other);
	side_drain(&honest);
}

/* Everything that the library does for connections of the victim's NIC. */
static void others_are_served(void)
{
	VIP_VI_HANDLE vi;

	server_start(&other, "other");
	client_connect(&honest, "other");
	server_join(&other);
	exchange();
	for (int i = 0; i < 2; i++) {
		ask_as_peer(&other, i ? "aa" : "zz", i ? "zz" : "aa");
		ask_as_peer(&honest, i ? "zz" : "aa", i ? "aa" : "zz");
		REQUIRE_VIP(VipConnectPeerWait(other.vi, NULL), VIP_SUCCESS);
		REQUIRE_VIP(VipConnectPeerWait(honest.vi, NULL), VIP_SUCCESS);
		exchange();
	}
	REQUIRE_VIP(VipCreateVi(s.nic, &s.attr, NULL, NULL, &vi), VIP_SUCCESS);
	CHECK_VIP(VipDestroyVi(vi), VIP_SUCCESS);
}

static void end_attack(void)
{
	check_signal(peer);
	REQUIRE_SOON(atomic_load(&held.returned));
	check_join(peer);
	peer = 0;
	REQUIRE_SOON(state_of(&s) == VIP_STATE_ERROR);
}

static void hold_up(void *(*run)(void *), bool with_cq)
{
	begin(run, with_cq);
	if (with_cq)
		CHECK_VIP(VipDisconnect(honest.vi), VIP_SUCCESS);
	others_are_served();
	REQUIRE_VIP(VipDeregisterMem(s.nic, held.page, held.page_handle), VIP_SUCCESS);
	others_are_served();
	/* now the peer disconnects, and the end of its connection waits */
	check_signal(peer);
	others_are_served();
	CHECK(is_held_up());
	end_attack();
	/* the adapter reports this end when the queue can be polled again */
	if (with_cq)
		REQUIRE_SOON(state_of(&mate) == VIP_STATE_ERROR);
	others_are_served();
}

static void close_vi(struct side *side)
{
	if (side->serving)
		pthread_join(side->thread, NULL);
	if (side->vi != NULL) {
		VipDisconnect(side->vi);
		side_drain(side);
		CHECK_VIP(VipDestroyVi(side->vi), VIP_SUCCESS);
	}
	memset(side, 0, sizeof(*side));
}

static void end(void)
{
	if (peer > 0)
		check_kill(peer);
	peer = 0;
	atomic_store(&destructor_may_end, true);
	leaves_data = false;
	atomic_store(&held.stop, true);
	if (held.runs)
		pthread_join(held.thread, NULL);
	close_vi(&caller);
	close_vi(&mate);
	close_vi(&other);
	side_close(&honest);
	side_close(&s);
	if (held.memory != NULL)
		munmap(held.memory, LENGTH);
	if (held.page != NULL)
		munmap(held.page, LENGTH);
	memset(&held, 0, sizeof(held));
	memset(&handlers, 0, sizeof(handlers));
}

static void a_held_up_post_stops_no_other_connection(void)
{
	hold_up(post, false);
}

static void a_held_up_poll_stops_no_other_connection(void)
{
	hold_up(poll_receives, false);
}

static void a_held_up_poll_of_a_completion_queue_stops_no_other_connection(void)
{
	hold_up(poll_receives, true);
}

static void a_held_up_request_for_a_handler_stops_no_other_connection(void)
{
	hold_up(ask_for_a_handler, false);
}

/* Of a VI that shares a completion queue with the attacker's. Each attempt fails, and takes completions off that queue. */
static void a_held_up_call_of_a_peer_stops_no_other_connection(void)
{
	hold_up(wait_for_receives, true);
}

/* The program is told of the other VI's messages, and that its connection has ended. */
static void a_held_up_herald_keeps_no_handler_of_others(void)
{
	begin(NULL, false);
	REQUIRE_SOON(atomic_load(&handlers.received) == 1);
	for (int i = 2; i < 5; i++) {
		ask_the_herald();
		REQUIRE_SOON(atomic_load(&handlers.received) == i);
	}
	CHECK_VIP(VipDisconnect(honest.vi), VIP_SUCCESS);
	REQUIRE_SOON(atomic_load(&handlers.lost) == 1);
	CHECK(!atomic_load(&held.returned));
	check_signal(peer);
	end_attack();
	CHECK_VIP(VipDisconnect(other.vi), VIP_SUCCESS);
	side_drain(&other);
	side_drain(&honest);
	hold_up_the_herald();
	REQUIRE_SOON(atomic_load(&handlers.received) == 5);
}

/* Takes the receive for the message of the attacker, which may exit before it has come, and destroys the VI. */
static void on_receive_destroy(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d)
{
	(void)context, (void)nic, (void)vi;
	check_signal(peer);
	check_signal(peer);
	REQUIRE_SOON(VipRecvDone(s.vi, &d) != VIP_NOT_DONE);
	/* the thread that was held up has taken the lock, too */
	for (int i = 0; i < 10; i++)
		check_nap();
	CHECK_VIP(VipDisconnect(s.vi), VIP_SUCCESS);
	side_drain(&s);
	CHECK_VIP(VipDestroyVi(s.vi), VIP_SUCCESS);
	s.vi = NULL;
	atomic_store(&held.returned, true);
}

static void no_handler_is_called_for_a_vi_that_another_handler_has_destroyed(void)
{
	begin(NULL, true);
	REQUIRE_SOON(atomic_load(&handlers.received) == 1);
	ask_the_herald_for(on_receive_destroy);
	REQUIRE_SOON(atomic_load(&held.returned));
	check_join(peer);
	peer = 0;
	for (int i = 2; i < 5; i++) {
		ask_the_herald();
		REQUIRE_SOON(atomic_load(&handlers.received) == i);
	}
	CHECK_EQ_INT(atomic_load(&handlers.entries), 0);
}

/* The program has a destructor for data of the thread that has called a handler of it, and it waits for the connections. */
static void the_end_of_a_thread_that_was_held_up_stops_no_other_connection(void)
{
	leaves_data = true;
	begin(NULL, false);
	for (int i = 1; i < 4; i++) {
		REQUIRE_SOON(atomic_load(&handlers.received) == i);
		ask_the_herald();
	}
	REQUIRE_SOON(atomic_load(&handlers.received) == 4);
	check_signal(peer);
	end_attack();
	CHECK_VIP(VipDisconnect(honest.vi), VIP_SUCCESS);
	REQUIRE_SOON(state_of(&other) == VIP_STATE_ERROR);
	CHECK_VIP(VipDisconnect(other.vi), VIP_SUCCESS);
	side_drain(&other);
	side_drain(&honest);
	for (int i = 0; i < 3; i++)
		others_are_served();
}

static const struct check_test tests[] = {
	CHECK_TEST(a_held_up_post_stops_no_other_connection),
	CHECK_TEST(a_held_up_poll_stops_no_other_connection),
	CHECK_TEST(a_held_up_poll_of_a_completion_queue_stops_no_other_connection),
	CHECK_TEST(a_held_up_request_for_a_handler_stops_no_other_connection),
	CHECK_TEST(a_held_up_call_of_a_peer_stops_no_other_connection),
	CHECK_TEST(a_held_up_herald_keeps_no_handler_of_others),
	CHECK_TEST(no_handler_is_called_for_a_vi_that_another_handler_has_destroyed),
	CHECK_TEST(the_end_of_a_thread_that_was_held_up_stops_no_other_connection),
	CHECK_END,
};
static const struct check_suite suite = { .name = "a thread that is held up", .teardown = end, .tests = tests };

CHECK_SUITES(&suite);

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An attacker has regions in a memory file, which the victim finds and maps when it accesses them. What that could cost: the memory
 * of the host, the address space of the victim, and its time.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"
#include "trap.h"
#include "victim.h"

#define SIZE (256ull << 20)
#define ROOM (1ull << 40) /* how much of a peer is mapped at most */

enum {
	DESCRIPTORS = 1000, /* the search takes a small part of its processor time for them (find.c) */
	SLOWNESS = 200,
	QUIET_MS = 300,
	FIRST = 100,	 /* the first region of the attacker that has a page of its own, which is the same for all */
	PAGES = 4000,	 /* their number: more than are mapped of a peer */
	MAPPED = 2048,	 /* so many are */
	ROUNDS = 6,	 /* of an attacker that comes as many adapters */
	SEGMENTS = 16,	 /* of a request */
	SEARCHES = 64,	 /* regions that are searched for in a call */
	SEARCH_MS = 50,	 /* how long a search takes then */
	CALL_MS = 250,	 /* so long a call waits for the searches for a process, at most */
	SHARE = 10,	 /* and such a part of the time */
	PROCESSES = 8,	 /* at most */
	ADAPTERS = 12,	 /* of a process, at most */
};

/* ------------------------------------------------------------------ the attacker */

static int file;

/* Makes all regions of the attacker one file that has no page yet. Returns its address. */
static uint64_t regions_in_file(struct hostile *h, uint64_t size)
{
	void *at;

	file = memfd_create("opendat-region-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	REQUIRE(file >= 0 && ftruncate(file, size) == 0 && fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
	REQUIRE(at != MAP_FAILED);
	for (uint32_t i = 1; i <= HOSTILE_REGIONS; i++) {
		atomic_store(&h->own.mr[i].addr, (uintptr_t)at);
		atomic_store(&h->own.mr[i].len, size);
		atomic_store(&h->own.mr[i].priv, DAT_MEM_PRIV_ALL_FLAG | SOFT_MR_SHARED);
	}
	return (uintptr_t)at;
}

/* The file's descriptor becomes the last one. */
static bool have_many_descriptors(void)
{
	const struct rlimit many = { DESCRIPTORS + 100, DESCRIPTORS + 100 };
	int last;

	if (setrlimit(RLIMIT_NOFILE, &many) < 0)
		return false;
	for (int i = 0; i < DESCRIPTORS; i++)
		REQUIRE(dup(STDIN_FILENO) >= 0);
	last = dup(file);
	REQUIRE(last >= 0);
	close(file);
	file = last;
	return true;
}

static void *read_directory(void *arg)
{
	int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)arg;
	REQUIRE(fd >= 0);
	CHECK(syscall(SYS_getdents64, fd, trap_at(), 4096) > 0);
	close(fd);
	return NULL;
}

static void *make_name(void *arg)
{
	(void)arg;
	CHECK(mkdir("/proc/self/none", 0700) < 0);
	return NULL;
}

static pthread_t reader, maker;

/* One thread has the lock of the directory until the fault ends, and one waits for it, so that nobody else gets it. */
static bool lock_directory(void)
{
	if (!trap_set())
		return false;
	REQUIRE(pthread_create(&reader, NULL, read_directory, NULL) == 0);
	trap_await();
	REQUIRE(pthread_create(&maker, NULL, make_name, NULL) == 0);
	usleep(QUIET_MS * 1000);
	return true;
}

static void unlock_directory(void)
{
	trap_release();
	REQUIRE(pthread_join(reader, NULL) == 0);
	REQUIRE(pthread_join(maker, NULL) == 0);
}

struct requests {
	uint64_t addr;
	uint32_t region; /* of the victim */
	uint32_t pages;
};

/* Leaves an RDMA Write of a byte out of each of the regions from that one on. */
static void leave_request(struct hostile *h, uint32_t seq, uint64_t at, const struct requests *r, uint32_t first)
{
	struct soft_sqe *e = soft_port_sqe(h->own.port, &h->own.layout, seq);

	*e = (struct soft_sqe){ .op = DATP_RDMA_WRITE, .n = SEGMENTS, .len = SEGMENTS };
	e->remote = (struct datp_rge){ r->region, 0, r->addr, SEGMENTS };
	for (uint32_t k = 0; k < SEGMENTS; k++)
		e->sge[k] = (struct datp_sge){ HOSTILE_CONTEXT(FIRST + first + k), 0, at, 1 };
}

static void make_regions(struct hostile *h, uint64_t at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		h->own.mr[FIRST + i] = (struct soft_mr){ .addr = at, .len = 4096, .priv = DAT_MEM_PRIV_ALL_FLAG | SOFT_MR_SHARED,
							 .context = HOSTILE_CONTEXT(FIRST + i) };
}

/* Leaves RDMA Writes of a byte out of each of many regions, and keeps on saying so until the victim has executed them. */
static void leave_requests(struct hostile *h, uint64_t at)
{
	struct soft_port *port = h->own.port;
	struct requests r;

	check_get(CHECK_PARENT, &r, sizeof(r));
	make_regions(h, at, r.pages);
	for (uint32_t i = 0, seq = 0; i < r.pages; i += SEGMENTS) {
		leave_request(h, seq, at, &r, i);
		if (++seq % (h->own.layout.sq_mask + 1) && i + SEGMENTS < r.pages)
			continue;
		atomic_store(&port->sq_posted, seq);
		hostile_mark_ready(h);
		check_signal(CHECK_PARENT);
		check_await(CHECK_PARENT);
		REQUIRE_EQ_INT(atomic_load(&port->sq_done), seq);
	}
	check_signal(CHECK_PARENT);
}

static uint64_t pages_of_file(void)
{
	struct stat st;

	REQUIRE(fstat(file, &st) == 0);
	return (uint64_t)st.st_blocks * 512 / 4096;
}

struct plan {
	const char *adapter; /* of the victim */
	uint64_t size;	     /* of each region */
	bool (*prepare)(void);
	void (*undo)(void);
	bool requests;
};

static void attack(void *arg)
{
	uint64_t where = victim_is_at(), at, pages;
	const struct plan *plan = arg;
	struct hostile h;

	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	at = regions_in_file(&h, plan->size);
	hostile_connect(&h, where);
	check_await(CHECK_PARENT);
	if (plan->prepare && !plan->prepare())
		at = 0;
	check_put(CHECK_PARENT, &at, sizeof(at));
	if (!at)
		return;
	if (plan->requests)
		leave_requests(&h, at);
	check_await(CHECK_PARENT);
	pages = pages_of_file();
	check_put(CHECK_PARENT, &pages, sizeof(pages));
	check_await(CHECK_PARENT);
	if (plan->undo)
		plan->undo();
	hostile_close(&h);
}

/* ------------------------------------------------------------------ the victim */

static pid_t attacker;
static uint64_t theirs;

static void victim_meets(const struct plan *plan)
{
	attacker = check_fork(attack, (void *)(uintptr_t)plan);
	victim_opens_as(plan->adapter, 65536);
	victim_tells(attacker);
	victim_accepts();
	check_signal(attacker);
	check_get(attacker, &theirs, sizeof(theirs));
	if (!theirs) {
		check_join(attacker);
		check_skip("the system does not allow that to the attacker");
	}
}

static void attacker_ends(void)
{
	check_signal(attacker);
	check_join(attacker);
}

static void write_to_region(uint32_t i)
{
	DAT_RMR_TRIPLET remote = { .rmr_context = HOSTILE_CONTEXT(i), .target_address = theirs, .segment_length = 8 };

	REQUIRE_DAT(api_write(victim.end.ep, api_seg(&victim.buf, 0, 8), remote, i, 0), DAT_SUCCESS);
	API_DTO(victim.end.request, victim.end.ep, i, DAT_DTO_SUCCESS, 8);
}

/* Returns how many of its pages the attacker's file has. */
static uint64_t pages_used(void)
{
	uint64_t pages;

	check_signal(attacker);
	check_get(attacker, &pages, sizeof(pages));
	return pages;
}

/* Returns true if the kernel makes mappings of that size where future ones are locked. */
static bool may_lock(uint64_t size)
{
	void *map = MAP_FAILED;

	if (mlockall(MCL_FUTURE) == 0)
		map = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	munlockall();
	return map != MAP_FAILED && munmap(map, size) == 0;
}

static void region_is_not_filled_up_where_memory_is_locked(void)
{
	static const struct plan plan = { .adapter = "soft0", .size = SIZE };

	if (!may_lock(4 * plan.size))
		check_skip("the limit of locked memory does not allow that (ulimit -l)");
	victim_meets(&plan);
	REQUIRE(mlockall(MCL_FUTURE) == 0);
	for (uint32_t i = 1; i <= 3; i++)
		write_to_region(i);
	CHECK_EQ_INT(check_mappings("opendat-region-test"), 3);
	CHECK(pages_used() < 64);
	attacker_ends();
	munlockall();
}

static void regions_beyond_all_measure_are_not_mapped(void)
{
	static const struct plan plan = { .adapter = "soft0", .size = ROOM / 2 };

	victim_meets(&plan);
	for (uint32_t i = 1; i <= 4; i++)
		write_to_region(i);
	CHECK_EQ_INT(check_mappings("opendat-region-test"), 2);
	CHECK(pages_used() < 64);
	attacker_ends();
}

/* Stands for the C library's, also for the plugin, whose threads have a slow processor then. */
static _Atomic bool slow;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	if (clock == CLOCK_THREAD_CPUTIME_ID && atomic_load(&slow)) {
		long ns = (long)now->tv_sec * 1000000000 + now->tv_nsec;

		now->tv_sec = ns * SLOWNESS / 1000000000;
		now->tv_nsec = ns * SLOWNESS % 1000000000;
	}
	return result;
}

/*
 * A process with these capabilities, which few have, finds the file without its descriptor. This is about the calling thread, and
 * those that it starts.
 */
static void without_capabilities(bool without)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2];

	REQUIRE(syscall(SYS_capget, &header, sets) == 0);
	for (int i = 0; i < 2; i++)
		sets[i].effective = sets[i].permitted;
	if (without) {
		sets[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective &= ~CAP_TO_MASK(CAP_SYS_ADMIN);
		sets[CAP_TO_INDEX(CAP_CHECKPOINT_RESTORE)].effective &= ~CAP_TO_MASK(CAP_CHECKPOINT_RESTORE);
	}
	REQUIRE(syscall(SYS_capset, &header, sets) == 0);
}

/* An operation does not wait for a search that takes long; one that comes after the search has ended maps the region. */
static bool write_maps_the_region(void)
{
	write_to_region(1);
	return check_mappings("opendat-region-test") == 1;
}

static void region_is_copied_if_its_file_is_one_of_very_many(void)
{
	static const struct plan plan = { .adapter = "soft0", .size = SIZE, .prepare = have_many_descriptors };

	victim_meets(&plan);
	without_capabilities(true);
	REQUIRE_SOON(write_maps_the_region());
	atomic_store(&slow, true);
	write_to_region(2);
	CHECK_EQ_INT(check_mappings("opendat-region-test"), 1);
	CHECK(pages_used() < 64);
	attacker_ends();
}

static _Atomic bool over;

static void *write_to_regions(void *arg)
{
	(void)arg;
	for (uint32_t i = 1; i <= 8; i++)
		write_to_region(i);
	atomic_store(&over, true);
	return NULL;
}

static bool is_over(void)
{
	return atomic_load(&over);
}

/* The victim, which waits a tenth of a second for a peer, learns from the first region that it is in vain. */
static void regions_are_copied_if_looking_for_the_file_does_not_end(void)
{
	static const struct plan plan = {
		.adapter = "soft-hasty", .size = SIZE, .prepare = lock_directory, .undo = unlock_directory
	};
	pthread_t writer;

	victim_meets(&plan);
	atomic_store(&over, false);
	REQUIRE(pthread_create(&writer, NULL, write_to_regions, NULL) == 0);
	CHECK_SOON(is_over());
	CHECK_EQ_INT(check_mappings("opendat-region-test"), 0);
	CHECK(pages_used() < 64);
	victim_serves_others();
	attacker_ends();
	REQUIRE(pthread_join(writer, NULL) == 0);
}

static _Atomic bool searches_take_long;
static _Atomic unsigned int searches, searching;

/* Stands for the C library's, also for the plugin. */
DIR *opendir(const char *name)
{
	DIR *(*real)(const char *name);

	*(void **)&real = dlsym(RTLD_NEXT, "opendir");
	atomic_fetch_add(&searches, 1);
	atomic_fetch_add(&searching, 1);
	if (atomic_load(&searches_take_long))
		usleep(SEARCH_MS * 1000);
	atomic_fetch_sub(&searching, 1);
	return real(name);
}

static _Thread_local unsigned int begun; /* threads, most of which are for searches */

/* The same. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	begun++;
	return real(thread, attr, run, arg);
}

/* Polls once. Returns true if all requests have been executed that the attacker has left. A call does a part of them. */
static bool has_executed(struct soft_ep *ep)
{
	DAT_EVENT event;
	bool all;

	CHECK(DAT_GET_TYPE(dat_evd_dequeue(victim.end.recv, &event)) == DAT_QUEUE_EMPTY);
	datp_lock(&ep->base.lock);
	all = atomic_load(&ep->rport->sq_done) == atomic_load(&ep->rport->sq_posted);
	datp_unlock(&ep->base.lock);
	return all;
}

/* Executes the requests of the attacker, each time all that it has left. */
static void execute_all(uint32_t pages)
{
	const struct requests r = { (uintptr_t)victim.buf.mem, victim.buf.rmr_context, pages };

	check_put(attacker, &r, sizeof(r));
	for (uint32_t left = (pages + SEGMENTS - 1) / SEGMENTS, queue = 0; left; left -= left < queue ? left : queue) {
		struct soft_ep *ep = (struct soft_ep *)victim.end.ep;

		queue = ep->rlayout.sq_mask + 1;
		check_await(attacker);
		CHECK_SOON(has_executed(ep));
		check_signal(attacker);
	}
	check_await(attacker);
}

static void few_of_very_many_regions_are_mapped(void)
{
	static const struct plan plan = { .adapter = "soft-patient", .size = SIZE, .requests = true };

	victim_meets(&plan);
	execute_all(PAGES);
	CHECK_EQ_INT(check_mappings("opendat-region-test"), MAPPED);
	CHECK(pages_used() < 64);
	victim_serves_others();
	attacker_ends();
}

/* A call waits for a quarter of a second at most, however many regions it has to look for. */
static void call_does_not_wait_for_many_long_searches(void)
{
	static const struct plan plan = { .adapter = "soft0", .size = SIZE, .requests = true };

	victim_meets(&plan);
	without_capabilities(true);
	atomic_store(&searches, 0);
	atomic_store(&searches_take_long, true);
	execute_all(SEARCHES);
	CHECK(atomic_load(&searches) > 0);
	CHECK(atomic_load(&searches) < SEARCHES / 2);
	CHECK(pages_used() < 64);
	victim_serves_others();
	attacker_ends();
}

/* Connects as several adapters, each of which leaves a request out of regions that are not known yet, when it is told to. */
static void come_with_adapters(void *arg)
{
	static struct hostile h[ADAPTERS];
	const unsigned int adapters = *(unsigned int *)arg;
	uint64_t where = victim_is_at(), at;
	struct requests r;

	for (unsigned int i = 0; i < adapters; i++) {
		hostile_make(&h[i], HOSTILE_GOOD, HOSTILE_NO_BELL);
		hostile_connect(&h[i], where);
		check_await(CHECK_PARENT);
	}
	at = regions_in_file(&h[0], SIZE);
	for (unsigned int i = 0; i < adapters; i++) {
		check_get(CHECK_PARENT, &r, sizeof(r));
		make_regions(&h[i], at, SEGMENTS);
		leave_request(&h[i], 0, at, &r, 0);
		atomic_store(&h[i].own.port->sq_posted, 1);
		hostile_mark_ready(&h[i]);
		check_signal(CHECK_PARENT);
	}
	check_await(CHECK_PARENT);
}

static pid_t crowd[PROCESSES];
static DAT_EP_HANDLE crowd_ep[PROCESSES * ADAPTERS];

/* Connects with so many processes, and as many adapters of each. */
static void victim_meets_crowd(unsigned int processes, unsigned int adapters)
{
	static unsigned int arg;

	arg = adapters;
	for (unsigned int i = 0; i < processes; i++)
		crowd[i] = check_fork(come_with_adapters, &arg);
	victim_opens_as("soft0", 65536);
	for (unsigned int i = 0; i < processes * adapters; i++) {
		if (i % adapters == 0)
			victim_tells(crowd[i / adapters]);
		REQUIRE_DAT(dat_ep_create(api.ia, api.pz, victim.end.recv, victim.end.request, victim.end.connect, NULL,
					  &crowd_ep[i]),
			    DAT_SUCCESS);
		REQUIRE_DAT(dat_cr_accept(api_cr(victim.cr_evd), crowd_ep[i], 0, NULL), DAT_SUCCESS);
		API_CONN(victim.end.connect, crowd_ep[i], DAT_CONNECTION_EVENT_ESTABLISHED);
		check_signal(crowd[i / adapters]);
	}
	without_capabilities(true);
	atomic_store(&searches, 0);
	atomic_store(&searches_take_long, true);
}

/* The process leaves the request of its next adapter. */
static void leaves_request(pid_t process)
{
	const struct requests r = { (uintptr_t)victim.buf.mem, victim.buf.rmr_context, SEGMENTS };

	check_put(process, &r, sizeof(r));
	check_await(process);
}

static bool has_executed_of(unsigned int i)
{
	return has_executed((struct soft_ep *)crowd_ep[i]);
}

static void crowd_ends(unsigned int processes)
{
	for (unsigned int i = 0; i < processes; i++) {
		check_signal(crowd[i]);
		check_join(crowd[i]);
	}
}

/* Calls wait for the searches for all of them as long as for those for one. */
static void searches_for_adapters_of_a_process_have_one_budget(void)
{
	uint64_t began = check_now_ms(), least;

	victim_meets_crowd(1, ADAPTERS);
	for (unsigned int i = 0; i < ADAPTERS; i++) {
		leaves_request(crowd[0]);
		CHECK_SOON(has_executed_of(i));
		CHECK_SOON(!atomic_load(&searching)); /* one that was left behind would keep the next from beginning */
	}
	least = (uint64_t)atomic_load(&searches) * SEARCH_MS;
	CHECK(least > 0);
	CHECK(least <= CALL_MS + (check_now_ms() - began) / SHARE + SEARCH_MS);
	crowd_ends(1);
}

/* The time of one process is what a call may take for all of them, and the next call goes on. */
static void call_does_not_wait_for_searches_for_many_processes(void)
{
	DAT_EVENT event;

	victim_meets_crowd(PROCESSES, 1);
	for (unsigned int i = 0; i < PROCESSES; i++)
		leaves_request(crowd[i]);
	begun = 0; /* the progress thread may begin some as well */
	CHECK(DAT_GET_TYPE(dat_evd_dequeue(victim.end.recv, &event)) == DAT_QUEUE_EMPTY);
	CHECK(begun <= 3 * (CALL_MS / SEARCH_MS + 1));
	for (unsigned int i = 0; i < PROCESSES; i++)
		CHECK_SOON(has_executed_of(i));
	CHECK(atomic_load(&searches) > 0);
	crowd_ends(PROCESSES);
}

/* Connects again and again as another adapter, and does not let the victim find its region. */
static void come_as_many(void *arg)
{
	uint64_t where = victim_is_at(), at;
	struct hostile h;

	(void)arg;
	hostile_make(&h, HOSTILE_GOOD, HOSTILE_NO_BELL);
	at = regions_in_file(&h, SIZE);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		h.id[1] = i;
		h.fd = -1; /* it stays open */
		hostile_connect(&h, where);
		check_await(CHECK_PARENT);
		if (!i && !lock_directory())
			at = 0;
		check_put(CHECK_PARENT, &at, sizeof(at));
		if (!at)
			return;
		check_await(CHECK_PARENT);
		hostile_disconnect(&h);
	}
	check_await(CHECK_PARENT);
	unlock_directory();
	hostile_close(&h);
}

/* Each of these peers would leave a thread of the victim in the kernel, which could not even end. */
static void process_that_comes_as_many_peers_keeps_one_thread(void)
{
	unsigned int before = 0;

	attacker = check_fork(come_as_many, NULL);
	victim_opens_as("soft-hasty", 65536);
	victim_tells(attacker);
	for (int i = 0; i < ROUNDS; i++) {
		victim_accepts();
		check_signal(attacker);
		check_get(attacker, &theirs, sizeof(theirs));
		if (!theirs) {
			check_join(attacker);
			check_skip(TRAP_NONE);
		}
		write_to_region(1);
		check_signal(attacker);
		API_CONN_OVER(victim.end.connect, victim.end.ep);
		REQUIRE_DAT(dat_ep_reset(victim.end.ep), DAT_SUCCESS);
		if (!i)
			before = victim_threads();
	}
	CHECK(victim_threads() <= before + 1);
	check_signal(attacker);
	check_join(attacker);
}

static void teardown(void)
{
	munlockall();
	atomic_store(&slow, false);
	atomic_store(&searches_take_long, false);
	without_capabilities(false);
	api_close();
	/* a thread of its own ends the mappings */
	CHECK_SOON(check_mappings("opendat-region-test") == 0);
}

static const struct check_test tests[] = { CHECK_TEST(region_is_not_filled_up_where_memory_is_locked),
					   CHECK_TEST(regions_beyond_all_measure_are_not_mapped),
					   CHECK_TEST(region_is_copied_if_its_file_is_one_of_very_many),
					   CHECK_TEST(regions_are_copied_if_looking_for_the_file_does_not_end),
					   CHECK_TEST(few_of_very_many_regions_are_mapped),
					   CHECK_TEST(call_does_not_wait_for_many_long_searches),
					   CHECK_TEST(searches_for_adapters_of_a_process_have_one_budget),
					   CHECK_TEST(call_does_not_wait_for_searches_for_many_processes),
					   CHECK_TEST(process_that_comes_as_many_peers_keeps_one_thread),
					   CHECK_END };

static const struct check_suite suite = { .name = "attacker with regions in a file", .teardown = teardown, .tests = tests };

CHECK_SUITES(&suite);

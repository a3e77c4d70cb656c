/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registered memory that the other process can map: it is accessed there, with the same results as any
 * other memory, and unmapped when its owner frees the region.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "api.h"
#include "providers/soft/exec.h"
#include "providers/soft/share.h"

uint32_t soft_last_mark = 1; /* for soft_work_begin() in this program; the plugin has its own */

#define SIZE ((size_t)256 << 10)
#define SHORT ((size_t)4096)
#define SKEW ((size_t)8192 + 40) /* the region begins somewhere within the file */
#define NAME "opendat-share-test"
#define SEGMENTS 3

/* How the owner's memory is allocated, and how the two processes use it. */
struct kind {
	void *(*make)(void);
	DAT_MEM_PRIV_FLAGS rights;
	bool window; /* the other side gets an RMR of it */
	bool cut;    /* the owner truncates the file before the other side uses it */
	bool trusted; /* the other side also maps files that their owner can truncate */
};

static struct api_end end;
static struct api_buf buf;
static struct api_offer theirs;
static pid_t owner;
static int file = -1;
static int segments = 1; /* the segments of each local list; a request of one segment would take the short way (exec_short.c) */

static void *map_file(int fd, int prot, int flags)
{
	unsigned char *mem = mmap(NULL, SIZE + 2 * SKEW, prot, flags, fd, 0);

	REQUIRE(mem != MAP_FAILED);
	return mem + SKEW;
}

static void unmap_file(unsigned char *mem)
{
	REQUIRE(munmap(mem - SKEW, SIZE + 2 * SKEW) == 0);
}

static int unsealed_memfd(void)
{
	file = memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	REQUIRE(file >= 0);
	REQUIRE(ftruncate(file, (off_t)(SIZE + 2 * SKEW)) == 0);
	return file;
}

/* Returns memory of a file that is sealed, so that nobody can truncate it. */
static int memfd(void)
{
	int fd = unsealed_memfd();

	REQUIRE(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
	return fd;
}

static void *of_memfd(void)
{
	return map_file(memfd(), PROT_READ | PROT_WRITE, MAP_SHARED);
}

static void *of_unsealed_memfd(void)
{
	return map_file(unsealed_memfd(), PROT_READ | PROT_WRITE, MAP_SHARED);
}

/* Returns memory of a file on which this process has a lease that it never gives up, so that an open() of the file waits. */
static void *of_leased_memfd(void)
{
	void *mem = of_memfd();
	char name[32];
	int again;

	/* the system counts this descriptor as one that may write, but not the one that memfd_create() has returned */
	snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
	again = open(name, O_RDWR | O_CLOEXEC);
	REQUIRE(again >= 0);
	REQUIRE(signal(SIGIO, SIG_IGN) != SIG_ERR);
	REQUIRE(fcntl(again, F_SETLEASE, F_WRLCK) == 0);
	return mem;
}

static void *private_of_memfd(void)
{
	return map_file(memfd(), PROT_READ | PROT_WRITE, MAP_PRIVATE);
}

static void *readable_of_memfd(void)
{
	return map_file(memfd(), PROT_READ, MAP_SHARED);
}

/* Returns memory of a file as programs do: the descriptor is closed after the mapping. */
static void *of_named_file(void)
{
	char name[64];
	void *mem;
	int fd;

	snprintf(name, sizeof(name), "/" NAME "-%d", (int)getpid());
	fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	REQUIRE(fd >= 0);
	REQUIRE(ftruncate(fd, (off_t)(SIZE + 2 * SKEW)) == 0);
	mem = map_file(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
	close(fd);
	return mem;
}

static void unlink_named_file(void)
{
	char name[64];

	snprintf(name, sizeof(name), "/" NAME "-%d", (int)getpid());
	shm_unlink(name);
}

static DAT_RMR_TRIPLET window_of(const struct api_buf *mem, DAT_RMR_HANDLE *rmr)
{
	DAT_RMR_TRIPLET target = api_target(mem, 0, SIZE);
	DAT_LMR_TRIPLET segment = api_seg(mem, 0, SIZE);

	REQUIRE_DAT(dat_rmr_create(api.pz, rmr), DAT_SUCCESS);
	REQUIRE_DAT(dat_rmr_bind(*rmr, &segment,
				 DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
				 end.ep, api_cookie(5), DAT_COMPLETION_DEFAULT_FLAG,
				 &target.rmr_context),
		    DAT_SUCCESS);
	API_BIND(end.request, *rmr, 5, DAT_RMR_BIND_SUCCESS);
	return target;
}

/* Makes one step for each byte that comes from the test; 'q' ends it. */
static void serve(struct api_buf *mem, DAT_RMR_HANDLE rmr)
{
	char step = 0;
	long wrong;

	while (step != 'q') {
		check_get(CHECK_PARENT, &step, 1);
		if (step == 'v') { /* verify */
			wrong = api_mismatch(mem->mem, SIZE, 1);
			check_put(CHECK_PARENT, &wrong, sizeof(wrong));
		} else if (step == 'r') { /* a message has come */
			API_DTO(end.recv, end.ep, 7, DAT_DTO_SUCCESS, SIZE);
			check_signal(CHECK_PARENT);
		} else if (step == 'p') { /* post a receive for a message that waits */
			REQUIRE_DAT(api_recv(end.ep, mem, 0, SIZE, 7), DAT_SUCCESS);
			API_DTO(end.recv, end.ep, 7, DAT_DTO_SUCCESS, SIZE);
			check_signal(CHECK_PARENT);
		} else if (step == 'm') { /* does it map another file than its own? */
			wrong = check_mappings(NAME) - 1;
			check_put(CHECK_PARENT, &wrong, sizeof(wrong));
		} else if (step == 'c') { /* cut the file off */
			REQUIRE(ftruncate(file, 0) == 0);
			check_signal(CHECK_PARENT);
		} else if (step == 'f') { /* free */
			REQUIRE_DAT(rmr ? dat_rmr_free(rmr) : dat_lmr_free(mem->lmr), DAT_SUCCESS);
			check_signal(CHECK_PARENT);
		}
	}
}

static void own(void *arg)
{
	const struct kind *kind = arg;
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
	DAT_EVD_HANDLE cr_evd;
	struct api_buf mem;
	struct api_offer offer;

	api_open();
	api_end_make(&end, NULL);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	api_offer_make(&offer, cr_evd, NULL);
	mem = api_buf_in(api.pz, kind->make(), SIZE, kind->rights);
	if (kind->rights & DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
		REQUIRE_DAT(api_recv(end.ep, &mem, 0, SIZE, 7), DAT_SUCCESS);
	offer.target = api_target(&mem, 0, SIZE);
	check_put(CHECK_PARENT, &offer, sizeof(offer));
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	if (kind->window)
		offer.target = window_of(&mem, &rmr);
	if (kind->cut)
		REQUIRE(ftruncate(file, 0) == 0);
	check_put(CHECK_PARENT, &offer, sizeof(offer));
	serve(&mem, rmr);
	unlink_named_file();
	api_close();
}

static void meet(const struct kind *kind)
{
	owner = check_fork(own, (void *)(uintptr_t)kind);
	if (kind->trusted)
		api_open_as((char *)(uintptr_t)"soft-unsealed");
	else
		api_open();
	api_end_make(&end, NULL);
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	api_fill(buf.mem, SIZE, 1);
	check_get(owner, &theirs, sizeof(theirs));
	api_connect_to(&end, &theirs.address, theirs.qual);
	check_get(owner, &theirs, sizeof(theirs));
}

static void step(char what)
{
	check_put(owner, &what, 1);
}

static void part(void)
{
	step('q');
	check_join(owner);
}

/* Returns true if the owner's file is mapped in this process. */
static bool mapped(void)
{
	return check_mappings(NAME) > 0;
}

/* Makes a list of the whole buffer, of unequal segments; the first one begins at an odd offset. */
static void list_of_all(DAT_LMR_TRIPLET *list)
{
	size_t from = 0;

	for (int i = 0; i < segments; i++) {
		size_t to = i == segments - 1 ? SIZE : SIZE / (size_t)segments * (size_t)(i + 1) + 13;

		list[i] = api_seg(&buf, from, to - from);
		from = to;
	}
}

static DAT_RETURN post_write_of_all(uint64_t cookie)
{
	DAT_LMR_TRIPLET list[SEGMENTS];

	list_of_all(list);
	return dat_ep_post_rdma_write(end.ep, segments, list, api_cookie(cookie), &theirs.target, DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN post_read_of_all(uint64_t cookie)
{
	DAT_LMR_TRIPLET list[SEGMENTS];

	list_of_all(list);
	return dat_ep_post_rdma_read(end.ep, segments, list, api_cookie(cookie), &theirs.target, DAT_COMPLETION_DEFAULT_FLAG);
}

static void write_all(void)
{
	REQUIRE_DAT(post_write_of_all(1), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 1, DAT_DTO_SUCCESS, SIZE);
}

/* Only requests of up to 64 KiB note a region, and use what is noted (exec_short.h). */
static DAT_RETURN post_short_write(uint64_t cookie)
{
	DAT_RMR_TRIPLET there = theirs.target;

	there.segment_length = SHORT;
	return api_write(end.ep, api_seg(&buf, 0, SHORT), there, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

static void write_short(void)
{
	REQUIRE_DAT(post_short_write(1), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 1, DAT_DTO_SUCCESS, SHORT);
}

static void want_it_there(void)
{
	long wrong = 0;

	step('v');
	check_get(owner, &wrong, sizeof(wrong));
	CHECK_EQ_INT(wrong, -1);
}

static void read_back(void)
{
	memset(buf.mem, 0, SIZE);
	REQUIRE_DAT(post_read_of_all(2), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 2, DAT_DTO_SUCCESS, SIZE);
	CHECK_EQ_INT(api_mismatch(buf.mem, SIZE, 1), -1);
}

static void write_and_read(void *(*make)(void), bool in_place, bool trusted)
{
	const struct kind kind = {
		.make = make, .rights = DAT_MEM_PRIV_ALL_FLAG, .trusted = trusted
	};

	meet(&kind);
	CHECK(!mapped());
	write_all();
	want_it_there();
	read_back();
	CHECK_EQ_INT(mapped(), in_place);
	part();
}

static void memfd_is_written_and_read_in_place(void)
{
	write_and_read(of_memfd, true, false);
}

static void file_whose_descriptor_is_closed_is_found_by_its_name(void)
{
	write_and_read(of_named_file, true, true);
}

static void file_that_can_lose_pages_is_memory_like_any_other(void)
{
	write_and_read(of_unsealed_memfd, false, false);
	api_close();
	write_and_read(of_named_file, false, false);
}

static void file_that_can_lose_pages_is_mapped_if_its_owner_is_trusted(void)
{
	write_and_read(of_unsealed_memfd, true, true);
}

/* The system would have the opener wait for 45 seconds. */
static void file_whose_opening_waits_is_memory_like_any_other(void)
{
	uint64_t from = check_now_ms();

	write_and_read(of_leased_memfd, false, false);
	CHECK(check_now_ms() - from < 20000);
}

static void private_mapping_is_not_the_file(void)
{
	write_and_read(private_of_memfd, false, false);
}

static void long_message_goes_straight_into_it(void)
{
	const struct kind kind = { .make = of_memfd, .rights = DAT_MEM_PRIV_ALL_FLAG };

	meet(&kind);
	REQUIRE_DAT(api_send(end.ep, &buf, 0, SIZE, 3, 0), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 3, DAT_DTO_SUCCESS, SIZE);
	step('r');
	check_await(owner);
	want_it_there();
	CHECK(mapped());
	part();
}

/* Requests behind a message that waits are executed by the owner, when it posts the receive; it maps this side's memory. */
static void owner_writes_and_reads_in_place_what_waits(void)
{
	const struct kind kind = { .make = of_memfd, .rights = DAT_MEM_PRIV_ALL_FLAG };
	struct api_buf message, out, in;
	long others = 0;

	meet(&kind);
	message = buf;
	out = api_buf_in(api.pz, of_memfd(), SIZE, DAT_MEM_PRIV_ALL_FLAG);
	in = api_buf_in(api.pz, of_memfd(), SIZE, DAT_MEM_PRIV_ALL_FLAG);
	REQUIRE_DAT(api_send(end.ep, &message, 0, SIZE, 3, 0), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 3, DAT_DTO_SUCCESS, SIZE);
	step('r');
	check_await(owner);
	api_fill(message.mem, SIZE, 2);
	api_fill(out.mem, SIZE, 1);
	REQUIRE_DAT(api_send(end.ep, &message, 0, SIZE, 4, 0), DAT_SUCCESS);
	buf = out;
	REQUIRE_DAT(post_write_of_all(1), DAT_SUCCESS);
	buf = in;
	REQUIRE_DAT(post_read_of_all(2), DAT_SUCCESS);
	API_EMPTY(end.request);
	step('p');
	check_await(owner);
	API_DTO(end.request, end.ep, 4, DAT_DTO_SUCCESS, SIZE);
	API_DTO(end.request, end.ep, 1, DAT_DTO_SUCCESS, SIZE);
	API_DTO(end.request, end.ep, 2, DAT_DTO_SUCCESS, SIZE);
	want_it_there();
	CHECK_EQ_INT(api_mismatch(in.mem, SIZE, 1), -1);
	step('m');
	check_get(owner, &others, sizeof(others));
	CHECK_EQ_INT(others, 2);
	part();
	unmap_file(out.mem);
	unmap_file(in.mem);
}

static void region_that_is_freed_is_let_go(void)
{
	const struct kind kind = { .make = of_memfd, .rights = DAT_MEM_PRIV_ALL_FLAG };

	meet(&kind);
	write_all();
	CHECK(mapped());
	step('f');
	check_await(owner);
	CHECK_SOON(!mapped());
	part();
}

/*
 * A thread that executes requests uses a mapping without a reference to it. Here it stands still: the mapping stays, and goes
 * when it has continued, although nobody wakes the service thread again.
 */
static void region_is_not_let_go_while_a_thread_is_at_work(void)
{
	const struct kind kind = { .make = of_memfd, .rights = DAT_MEM_PRIV_ALL_FLAG };
	const struct timespec while_ticks = { 0, 50000000L };
	struct soft_ep *ep;

	meet(&kind);
	write_all();
	CHECK(mapped());
	ep = (struct soft_ep *)end.ep;
	soft_work_begin(ep);
	step('f');
	check_await(owner);
	nanosleep(&while_ticks, NULL);
	CHECK(mapped());
	soft_work_end(ep);
	CHECK_SOON(!mapped());
	part();
}

/* The mapping of the owner's only region that is in use here. */
static struct soft_share *only_share(void)
{
	struct soft_peer *peer = ((struct soft_ep *)end.ep)->peer;

	for (size_t i = 0; i < SOFT_SHARE_BUCKETS; i++)
		if (peer->shares[i])
			return peer->shares[i];
	CHECK_FAIL("nothing is mapped");
	exit(1);
}

/* A thread that copies has a reference to the mapping. That, too, goes when the copy is over, although nobody wakes us again. */
static void region_is_not_let_go_while_a_thread_copies(void)
{
	const struct kind kind = { .make = of_memfd, .rights = DAT_MEM_PRIV_ALL_FLAG };
	const struct timespec while_ticks = { 0, 50000000L };
	struct soft_share *used;

	meet(&kind);
	write_all();
	CHECK(mapped());
	used = only_share();
	used->users++;
	step('f');
	check_await(owner);
	nanosleep(&while_ticks, NULL);
	CHECK(mapped());
	used->users--;
	CHECK_SOON(!mapped());
	part();
}

/* Writes until the endpoint has noted the region of the other side, and returns the endpoint. */
static struct soft_ep *meet_and_note(void)
{
	const struct kind kind = { .make = of_memfd, .rights = DAT_MEM_PRIV_ALL_FLAG };
	struct soft_ep *ep;

	meet(&kind);
	ep = (struct soft_ep *)end.ep;
	write_all();
	for (int i = 0; i < 2; i++)
		write_short();
	REQUIRE(ep->near.rights);
	return ep;
}

/*
 * A peer frees a region that this side has noted, and when the mapping here has gone it writes into its table that the region
 * lives. What was noted does not hold any more: the memory is looked up, and mapped again.
 */
static void mapping_that_has_gone_is_not_used_again(void)
{
	struct soft_ep *ep = meet_and_note();

	step('f');
	check_await(owner);
	CHECK_SOON(!mapped());
	atomic_store(&ep->peer->mr[SOFT_MR_INDEX(theirs.target.rmr_context)].context, theirs.target.rmr_context);
	write_short();
	want_it_there();
	part();
}

/*
 * The region that this side has noted is freed, and its entry of the table becomes that of a window, which gets the context of the
 * region after some thousand binds. Such an entry is written here. The context opens what the window opens, which is nothing.
 */
static void window_with_the_context_of_a_region_is_not_taken_for_it(void)
{
	struct soft_ep *ep = meet_and_note();
	uint32_t context;

	context = theirs.target.rmr_context;
	atomic_store(&ep->peer->mr[SOFT_MR_INDEX(context)].lmr, context + (1u << SOFT_MR_GEN_BITS));
	REQUIRE_DAT(post_short_write(4), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 4, DAT_DTO_ERR_REMOTE_ACCESS, API_ANY_LENGTH);
	part();
}

static void window_opens_it_and_closes_it_again(void)
{
	const struct kind kind = { .make = of_memfd,
				   .rights = DAT_MEM_PRIV_ALL_FLAG,
				   .window = true };

	meet(&kind);
	write_all();
	want_it_there();
	CHECK(mapped());
	step('f'); /* the peer may access the window, and not the region */
	check_await(owner);
	REQUIRE_DAT(post_write_of_all(4), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 4, DAT_DTO_ERR_REMOTE_ACCESS, API_ANY_LENGTH);
	part();
}

static void range_beyond_the_region_is_refused(void)
{
	const struct kind kind = { .make = of_memfd, .rights = DAT_MEM_PRIV_ALL_FLAG };

	meet(&kind);
	write_all();
	theirs.target.target_address += 8; /* the file continues beyond the end of the region */
	REQUIRE_DAT(post_write_of_all(4), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 4, DAT_DTO_ERR_REMOTE_ACCESS, API_ANY_LENGTH);
	part();
}

static void file_that_can_only_be_read_is_read_in_place(void)
{
	const struct kind kind = { .make = readable_of_memfd,
				   .rights = DAT_MEM_PRIV_LOCAL_READ_FLAG |
					     DAT_MEM_PRIV_REMOTE_READ_FLAG };

	meet(&kind);
	REQUIRE_DAT(post_read_of_all(2), DAT_SUCCESS);
	API_DTO(end.request, end.ep, 2, DAT_DTO_SUCCESS, SIZE);
	for (size_t i = 0; i < SIZE; i++)
		if (buf.mem[i])
			REQUIRE_FAIL("byte %zu is %d", i, buf.mem[i]);
	CHECK(mapped());
	part();
}

static void file_that_was_cut_off_fails_the_transfer(void)
{
	const struct kind kind = { .make = of_unsealed_memfd,
				   .rights = DAT_MEM_PRIV_ALL_FLAG,
				   .cut = true };
	DAT_EVENT event;

	meet(&kind);
	REQUIRE_DAT(post_write_of_all(1), DAT_SUCCESS);
	API_EVENT(end.request, &event);
	CHECK_EQ_INT(event.event_number, DAT_DTO_COMPLETION_EVENT);
	CHECK(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_BROKEN);
	CHECK(!mapped());
	part();
}

/* If the owner truncates its file, the transfer fails, as it does on hardware; the peer is not killed by SIGBUS. */
static void file_that_is_cut_off_in_use_fails_the_transfer(void)
{
	const struct kind kind = { .make = of_unsealed_memfd, .rights = DAT_MEM_PRIV_ALL_FLAG };
	DAT_EVENT event;

	meet(&kind);
	write_all();
	step('c');
	check_await(owner);
	REQUIRE_DAT(post_write_of_all(2), DAT_SUCCESS);
	API_EVENT(end.request, &event);
	CHECK_EQ_INT(event.event_number, DAT_DTO_COMPLETION_EVENT);
	CHECK(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_BROKEN);
	part();
}

/* This is the last test of its suite, because the process cannot undo the ban on copies. */
static void kernel_is_not_asked_to_copy(void)
{
	const struct kind kind = { .make = of_memfd, .rights = DAT_MEM_PRIV_ALL_FLAG };

	meet(&kind);
	REQUIRE(api_forbid_copies() == 0);
	write_all();
	want_it_there();
	read_back();
	part();
}

static int use_bounce(void)
{
	return setenv("OPENDAT_TEST_IA", "soft-bounce", 1);
}

/* A superuser may open the file of a peer's mapping through /proc/PID/map_files. This gives up the rights to do so. */
static int use_soft_as_anybody(void)
{
	const struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	return unsetenv("OPENDAT_TEST_IA") || syscall(SYS_capset, &head, none);
}

static void with_one_segment(void)
{
	segments = 1;
}

static void with_lists(void)
{
	segments = SEGMENTS;
}

static const struct check_test bounced_tests[] = {
	CHECK_TEST(memfd_is_written_and_read_in_place),
	CHECK_TEST(long_message_goes_straight_into_it),
	CHECK_TEST(file_whose_opening_waits_is_memory_like_any_other),
	CHECK_TEST(private_mapping_is_not_the_file),
	CHECK_TEST(region_that_is_freed_is_let_go),
	CHECK_END
};

static const struct check_test lists_tests[] = {
	CHECK_TEST(memfd_is_written_and_read_in_place),
	CHECK_TEST(file_that_can_lose_pages_is_memory_like_any_other),
	CHECK_TEST(owner_writes_and_reads_in_place_what_waits),
	CHECK_TEST(region_that_is_freed_is_let_go),
	CHECK_TEST(window_opens_it_and_closes_it_again),
	CHECK_TEST(range_beyond_the_region_is_refused),
	CHECK_TEST(file_that_can_only_be_read_is_read_in_place),
	CHECK_END
};

static const struct check_test tests[] = {
	CHECK_TEST(memfd_is_written_and_read_in_place),
	CHECK_TEST(file_whose_descriptor_is_closed_is_found_by_its_name),
	CHECK_TEST(file_that_can_lose_pages_is_memory_like_any_other),
	CHECK_TEST(file_that_can_lose_pages_is_mapped_if_its_owner_is_trusted),
	CHECK_TEST(private_mapping_is_not_the_file),
	CHECK_TEST(long_message_goes_straight_into_it),
	CHECK_TEST(owner_writes_and_reads_in_place_what_waits),
	CHECK_TEST(region_that_is_freed_is_let_go),
	CHECK_TEST(region_is_not_let_go_while_a_thread_is_at_work),
	CHECK_TEST(region_is_not_let_go_while_a_thread_copies),
	CHECK_TEST(mapping_that_has_gone_is_not_used_again),
	CHECK_TEST(window_with_the_context_of_a_region_is_not_taken_for_it),
	CHECK_TEST(window_opens_it_and_closes_it_again),
	CHECK_TEST(range_beyond_the_region_is_refused),
	CHECK_TEST(file_that_can_only_be_read_is_read_in_place),
	CHECK_TEST(file_that_was_cut_off_fails_the_transfer),
	CHECK_TEST(file_that_is_cut_off_in_use_fails_the_transfer),
	CHECK_TEST(kernel_is_not_asked_to_copy),
	CHECK_END
};

/* A mapping that is not needed any more is ended by a thread of its own. */
static void teardown(void)
{
	api_close();
	CHECK_SOON(!mapped());
}

static const struct check_suite bounced = { .name = "memory that both can map, by the bounce path",
					    .init = use_bounce,
					    .setup = with_one_segment,
					    .teardown = teardown,
					    .tests = bounced_tests };

static const struct check_suite bounced_lists = { .name = "lists for memory that both can map, by the bounce path",
						  .init = use_bounce,
						  .setup = with_lists,
						  .teardown = teardown,
						  .tests = bounced_tests };

static const struct check_suite lists = { .name = "lists for memory that both can map",
					  .init = use_soft_as_anybody,
					  .setup = with_lists,
					  .teardown = teardown,
					  .tests = lists_tests };

static const struct check_suite share = { .name = "memory that both can map",
					  .init = use_soft_as_anybody,
					  .setup = with_one_segment,
					  .teardown = teardown,
					  .tests = tests };

CHECK_SUITES(&bounced, &bounced_lists, &lists, &share);

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer offers memory in which a page fault does not end: it is under userfaultfd(2), and nobody serves the faults. A thread
 * that the kernel lets copy to such memory waits for as long as the peer likes (SECURITY.md). With cma=off the peer's own
 * thread copies: each call here returns within the bound, and the connection ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api.h"

#define SIZE ((size_t)256 << 10)

enum what { WRITE, READ, SEND };

static struct api_end end;
static struct api_buf buf, other;

/* ------------------------------------------------------------------ the peer */

/* Makes every fault in the region wait. Returns false if the system does not allow it for faults of the kernel. */
static bool stop_faults(void *mem)
{
	struct uffdio_api version = { .api = UFFD_API };
	struct uffdio_register all = { .range = { (uintptr_t)mem, SIZE }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 && (errno == EPERM || errno == ENOSYS))
		return false;
	REQUIRE(fd >= 0 && ioctl(fd, UFFDIO_API, &version) == 0);
	REQUIRE(madvise(mem, SIZE, MADV_DONTNEED) == 0 && ioctl(fd, UFFDIO_REGISTER, &all) == 0);
	return true;
}

static void offer(void *arg)
{
	struct api_offer here;
	struct api_buf trap;
	DAT_EVD_HANDLE cr_evd;
	void *mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool stopped;

	(void)arg;
	REQUIRE(mem != MAP_FAILED);
	api_open_as((char *)(uintptr_t)"soft-bounce");
	api_end_make(&end, NULL);
	cr_evd = api_evd(8, DAT_EVD_CR_FLAG);
	trap = api_buf_in(api.pz, mem, SIZE, DAT_MEM_PRIV_ALL_FLAG);
	api_offer_make(&here, cr_evd, &trap);
	REQUIRE_DAT(api_recv(end.ep, &trap, 0, SIZE, 1), DAT_SUCCESS);
	stopped = stop_faults(mem);
	check_put(CHECK_PARENT, &stopped, sizeof stopped);
	check_put(CHECK_PARENT, &here, sizeof here);
	REQUIRE_DAT(dat_cr_accept(api_cr(cr_evd), end.ep, 0, NULL), DAT_SUCCESS);
	for (;;)
		pause();
}

/* ------------------------------------------------------------------ the tests */

struct post {
	enum what what;
	struct api_offer there;
	DAT_RETURN result;
};

static void *post_it(void *arg)
{
	struct post *post = arg;

	if (post->what == SEND)
		post->result = api_send(end.ep, &buf, 0, SIZE, 2, 0);
	else if (post->what == WRITE)
		post->result = api_write(end.ep, api_seg(&buf, 0, SIZE), post->there.target, 2, 0);
	else
		post->result = api_read(end.ep, api_seg(&buf, 0, SIZE), post->there.target, 2, 0);
	return NULL;
}

static void calls_return(enum what what)
{
	pid_t peer = check_fork(offer, NULL);
	struct post post = { .what = what };
	pthread_t thread;
	DAT_EVENT event;
	bool stopped;

	check_get(peer, &stopped, sizeof stopped);
	if (!stopped) {
		check_kill(peer);
		check_skip("userfaultfd(2) for faults of the kernel is not allowed (vm.unprivileged_userfaultfd)");
	}
	check_get(peer, &post.there, sizeof post.there);
	api_open_as((char *)(uintptr_t)"soft-bounce");
	api_end_make(&end, NULL);
	buf = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	other = api_buf(SIZE, DAT_MEM_PRIV_ALL_FLAG);
	api_connect_to(&end, &post.there.address, post.there.qual);
	REQUIRE(pthread_create(&thread, NULL, post_it, &post) == 0);
	CHECK_DAT(dat_lmr_free(other.lmr), DAT_SUCCESS);
	REQUIRE(pthread_join(thread, NULL) == 0);
	REQUIRE_DAT(post.result, DAT_SUCCESS);
	API_EVENT(end.request, &event);
	CHECK(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS);
	API_CONN(end.connect, end.ep, DAT_CONNECTION_EVENT_BROKEN);
	CHECK_DAT(dat_lmr_free(buf.lmr), DAT_SUCCESS);
	api_close();
	check_kill(peer);
}

static void a_write_there_fails(void)
{
	calls_return(WRITE);
}

static void a_read_there_fails(void)
{
	calls_return(READ);
}

static void a_send_there_fails(void)
{
	calls_return(SEND);
}

static const struct check_test tests[] = {
	CHECK_TEST(a_write_there_fails), CHECK_TEST(a_read_there_fails), CHECK_TEST(a_send_there_fails), CHECK_END
};

static const struct check_suite suite = { .name = "memory in which faults do not end",
					  .teardown = api_close,
					  .tests = tests };

CHECK_SUITES(&suite);

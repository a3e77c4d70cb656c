/* SPDX-License-Identifier: BSD-2-Clause */
/* The trap: see trap.h. */
#include "trap.h"
#include "hostile.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096 };

static int faults;

unsigned char *trap_at(void)
{
	return (unsigned char *)(((uintptr_t)hostile_data + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
}

bool trap_set(void)
{
	struct uffdio_api version = { .api = UFFD_API };
	struct uffdio_register all = { .range = { (uintptr_t)trap_at(), TRAP_LEN }, .mode = UFFDIO_REGISTER_MODE_MISSING };

	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (faults < 0 && (errno == EPERM || errno == ENOSYS))
		return false;
	REQUIRE(faults >= 0 && ioctl(faults, UFFDIO_API, &version) == 0);
	REQUIRE(madvise(trap_at(), TRAP_LEN, MADV_DONTNEED) == 0 && ioctl(faults, UFFDIO_REGISTER, &all) == 0);
	return true;
}

bool trap_set_and_tell(void)
{
	bool set = trap_set();

	check_put(CHECK_PARENT, &set, sizeof(set));
	return set;
}

void trap_need(pid_t attacker)
{
	bool set;

	check_get(attacker, &set, sizeof(set));
	if (set)
		return;
	check_join(attacker);
	check_skip(TRAP_NONE);
}

void trap_await(void)
{
	struct pollfd fault = { .fd = faults, .events = POLLIN };

	REQUIRE(poll(&fault, 1, (int)check_patience_ms()) == 1 && fault.revents == POLLIN);
}

void trap_release(void)
{
	struct uffdio_zeropage all = { .range = { (uintptr_t)trap_at(), TRAP_LEN } };

	REQUIRE(ioctl(faults, UFFDIO_ZEROPAGE, &all) == 0);
	close(faults); /* the memory can be a trap again */
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* What is mapped, and the two calls of the C library that are the intruder's turn. */
#include "convert_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

struct intruder intruder;

bool shared(const void *at)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end, want = (unsigned long)(uintptr_t)at;
	char line[4096];
	bool found = false;

	REQUIRE(maps != NULL);
	while (!found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%lx-%lx", &start, &end) == 2 && want >= start && want < end &&
			strstr(line, FILE_NAME) != NULL;
	fclose(maps);
	return found;
}

/* The C library's, and then the intruder's turn. */
int memfd_create(const char *name, unsigned int flags)
{
	int fd = (int)syscall(SYS_memfd_create, name, flags), other;
	char path[64];

	if (fd < 0 || intruder.does == AWAY || strcmp(name, FILE_NAME) != 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	other = open(path, O_RDWR | O_CLOEXEC);
	REQUIRE(other >= 0);
	if (intruder.does == MAPS)
		intruder.map = mmap(NULL, intruder.len, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0);
	else
		REQUIRE(pwrite(other, "x", 1, (off_t)intruder.at) == 1);
	close(other);
	return fd;
}

/* The C library's, as far as it is used here: each third argument has the width of a register. */
int fcntl(int fd, int cmd, ...)
{
	va_list args;
	long arg;

	va_start(args, cmd);
	arg = va_arg(args, long);
	va_end(args);
	if (cmd == F_SETLEASE && arg != F_UNLCK && intruder.lease_error) {
		errno = intruder.lease_error;
		return -1;
	}
	return (int)syscall(SYS_fcntl, fd, cmd, arg);
}

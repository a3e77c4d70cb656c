/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes system calls fail in this process, as in a sandbox that allows only those that it knows. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "check.h"

#define CALLS_MAX 8

int check_forbid(const int *calls, size_t count)
{
	struct sock_filter code[CALLS_MAX + 3] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							    offsetof(struct seccomp_data, nr)) };
	struct sock_fprog filter = { .len = (unsigned short)(count + 3), .filter = code };

	REQUIRE(count <= CALLS_MAX);
	for (size_t i = 0; i < count; i++)
		code[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							   (unsigned int)calls[i],
							   (unsigned char)(count - i), 0);
	code[count + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[count + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return errno;
	return 0;
}

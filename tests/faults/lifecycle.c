/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole life of an adapter in one process, again and again, with another allocation or system call
 * of the library failing each time: opened, connected to itself, messages of each length, RDMA, a
 * window, disconnected, closed. Start it with the shim (shim.c) in LD_PRELOAD.
 *
 *	lifecycle [STRIDE]	every STRIDE-th call, once and from there on; 1 is every call
 *	lifecycle at N, lifecycle from N	one life, with call N failing, or each from N on
 *
 * A call may fail. But if it succeeds it must have its result: a post its completion, and a connect, an
 * accept and a disconnect their events. And when everything has been freed, no descriptor, no mapping and
 * no thread is left. Each life is a process of its own, so that a crash ends only one.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat/udat.h>

#include "tests/faults/shim.h"

#define LIFE_S	   20	      /* a life that lasts longer hangs */
#define EVENT_US   5000000u   /* an event that takes longer is lost */
#define CONNECT_US 2000000u   /* the time-out of a connection */
#define LONG	   (256 * 1024)
#define QUAL	   4711

static const char *reason;	/* what is wrong with this life, which ends with the first error */

static void wrong(const char *fmt, ...)
{
	va_list args;

	if (reason)
		return;
	reason = fmt;
	fprintf(stderr, "# ");
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

struct end {
	DAT_EVD_HANDLE recv, request, connect;
	DAT_EP_HANDLE ep;
};

static struct life {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_RMR_HANDLE rmr;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;
	struct end a, b;	/* a connects to b */
	unsigned char *mem;	/* LONG bytes to send from, then as many to receive to */
} life;

/* A call may return an error, which ends the life early. */
#define TRY(call) do { if ((call) != DAT_SUCCESS) return false; } while (0)

static bool end_make(struct end *end)
{
	TRY(dat_evd_create(life.ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &end->recv));
	TRY(dat_evd_create(life.ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
			   &end->request));
	TRY(dat_evd_create(life.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &end->connect));
	TRY(dat_ep_create(life.ia, life.pz, end->recv, end->request, end->connect, NULL, &end->ep));
	return true;
}

static bool life_open(void)
{
	DAT_REGION_DESCRIPTION region = { .for_va = life.mem };
	char name[] = "soft0";
	DAT_VADDR address;
	DAT_VLEN length;

	TRY(dat_ia_open(name, 8, &life.async, &life.ia));
	TRY(dat_pz_create(life.ia, &life.pz));
	TRY(dat_evd_create(life.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &life.cr_evd));
	TRY(dat_lmr_create(life.ia, DAT_MEM_TYPE_VIRTUAL, region, 2 * LONG, life.pz,
			   DAT_MEM_PRIV_ALL_FLAG, &life.lmr, &life.context, &life.remote, &length,
			   &address));
	return end_make(&life.a) && end_make(&life.b);
}

/* Takes the next event. Returns false, and reports an error, if none comes. */
static bool event_of(DAT_EVD_HANDLE evd, const char *what, DAT_EVENT *event)
{
	DAT_COUNT more;
	DAT_RETURN ret = dat_evd_wait(evd, EVENT_US, 1, event, &more);

	if (ret == DAT_SUCCESS)
		return true;
	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
		wrong("lost event: %s", what);
	return false;
}

/* Accepts the request of `a` if it arrives. If it does not, `a` must get an event all the same. */
static bool life_connect(void)
{
	static const char greeting[8] = "welcome";
	const DAT_CONNECTION_EVENT_DATA *data;
	struct sockaddr_storage to;
	DAT_IA_ATTR attr;
	DAT_EVENT event;
	DAT_COUNT more;
	bool accepted;

	TRY(dat_ia_query(life.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	memset(&to, 0, sizeof(to));
	memcpy(&to, attr.ia_address_ptr, sizeof(struct sockaddr_in));
	TRY(dat_psp_create(life.ia, QUAL, life.cr_evd, DAT_PSP_CONSUMER_FLAG, &life.psp));
	TRY(dat_ep_connect(life.a.ep, (DAT_IA_ADDRESS_PTR)&to, QUAL, CONNECT_US, 0, NULL,
			   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	accepted = dat_evd_wait(life.cr_evd, CONNECT_US, 1, &event, &more) == DAT_SUCCESS &&
		   dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, life.b.ep,
				 sizeof(greeting), (DAT_PVOID)(uintptr_t)greeting) == DAT_SUCCESS;
	if (accepted && !event_of(life.b.connect, "of dat_cr_accept", &event))
		return false;
	accepted = accepted && event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
	if (!event_of(life.a.connect, "of dat_ep_connect", &event) ||
	    event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		return false;
	data = &event.event_data.connect_event_data;
	if (data->private_data_size != sizeof(greeting) ||
	    memcmp(data->private_data, greeting, sizeof(greeting)))
		wrong("lost private data");
	return accepted;
}

static DAT_LMR_TRIPLET part(size_t offset, size_t length)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = life.context,
				  .virtual_address = (DAT_VADDR)(uintptr_t)(life.mem + offset),
				  .segment_length = length };
}

static bool completes(DAT_EVD_HANDLE evd, const char *what)
{
	DAT_EVENT event;

	return event_of(evd, what, &event) &&
	       (event.event_number != DAT_DTO_COMPLETION_EVENT ||
		event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
}

/* `early`: the receive is posted before the send. Otherwise the receiver polls before it posts the receive. */
static bool life_message(size_t length, bool early)
{
	const DAT_DTO_COOKIE cookie = { .as_64 = length };
	DAT_LMR_TRIPLET from = part(0, length), to = part(LONG, length);
	bool sent, received;
	DAT_EVENT event;

	memset(life.mem, (int)length + 1, length);
	memset(life.mem + LONG, 0, length);
	if (early)
		TRY(dat_ep_post_recv(life.b.ep, 1, &to, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	TRY(dat_ep_post_send(life.a.ep, 1, &from, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	if (!early) {
		(void)dat_evd_dequeue(life.b.recv, &event);
		TRY(dat_ep_post_recv(life.b.ep, 1, &to, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	}
	received = completes(life.b.recv, "completion of a receive");
	sent = completes(life.a.request, "completion of a send");
	if (received && memcmp(life.mem, life.mem + LONG, length))
		wrong("a message of %zu bytes is damaged", length);
	return sent && received;
}

static bool life_rdma(void)
{
	const DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_LMR_TRIPLET from = part(0, LONG);
	DAT_RMR_TRIPLET to = { .rmr_context = life.remote,
			       .target_address = (DAT_VADDR)(uintptr_t)(life.mem + LONG),
			       .segment_length = LONG };
	DAT_RMR_CONTEXT window;

	TRY(dat_ep_post_rdma_write(life.a.ep, 1, &from, cookie, &to, DAT_COMPLETION_DEFAULT_FLAG));
	if (!completes(life.a.request, "completion of an RDMA write"))
		return false;
	TRY(dat_ep_post_rdma_read(life.a.ep, 1, &from, cookie, &to, DAT_COMPLETION_DEFAULT_FLAG));
	if (!completes(life.a.request, "completion of an RDMA read"))
		return false;
	TRY(dat_rmr_create(life.pz, &life.rmr));
	TRY(dat_rmr_bind(life.rmr, &from, DAT_MEM_PRIV_REMOTE_READ_FLAG, life.b.ep, cookie,
			 DAT_COMPLETION_DEFAULT_FLAG, &window));
	return completes(life.b.request, "completion of a bind");
}

/* Receives that are still posted are flushed, and both sides get an event of the end. */
static void life_disconnect(void)
{
	const DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_LMR_TRIPLET to = part(LONG, 16);
	bool posted = dat_ep_post_recv(life.b.ep, 1, &to, cookie, DAT_COMPLETION_DEFAULT_FLAG) ==
		      DAT_SUCCESS;
	DAT_EVENT event;

	/* the connection has ended already if a message has failed */
	(void)dat_ep_disconnect(life.a.ep, DAT_CLOSE_ABRUPT_FLAG);
	event_of(life.a.connect, "of dat_ep_disconnect", &event);
	event_of(life.b.connect, "of the peer's dat_ep_disconnect", &event);
	if (posted)
		event_of(life.b.recv, "flush of a receive", &event);
}

static void freed(DAT_RETURN ret, const char *call)
{
	if (ret != DAT_SUCCESS)
		wrong("%s: 0x%08x", call, ret);
}

static void end_free(struct end *end)
{
	if (end->ep)
		freed(dat_ep_free(end->ep), "dat_ep_free");
	if (end->connect)
		freed(dat_evd_free(end->connect), "dat_evd_free (connections)");
	if (end->request)
		freed(dat_evd_free(end->request), "dat_evd_free (requests)");
	if (end->recv)
		freed(dat_evd_free(end->recv), "dat_evd_free (receives)");
}

static void life_close(void)
{
	if (!life.ia)
		return;
	if (life.rmr)
		freed(dat_rmr_free(life.rmr), "dat_rmr_free");
	if (life.psp)
		freed(dat_psp_free(life.psp), "dat_psp_free");
	end_free(&life.a);
	end_free(&life.b);
	if (life.lmr)
		freed(dat_lmr_free(life.lmr), "dat_lmr_free");
	if (life.cr_evd)
		freed(dat_evd_free(life.cr_evd), "dat_evd_free (requests for connections)");
	if (life.pz)
		freed(dat_pz_free(life.pz), "dat_pz_free");
	freed(dat_ia_close(life.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
}

/* Counts the descriptors or threads of this process, or its mappings of shared memory, which are the library's. */
static unsigned int entries(const char *folder)
{
	DIR *dir = opendir(folder);
	unsigned int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static unsigned int shared_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned int n = 0;

	while (maps && fgets(line, sizeof(line), maps))
		n += strstr(line, "memfd:") != NULL;
	if (maps)
		fclose(maps);
	return n;
}

/* Waits until the folder has at most `most` entries, because a thread has one for an instant after it was joined. */
static bool soon(const char *folder, unsigned int most)
{
	for (int i = 0; i < 500; i++) {
		if (entries(folder) <= most)
			return true;
		usleep(10000);
	}
	return false;
}

static void life_live(void)
{
	bool connected;

	memset(&life, 0, sizeof(life));
	life.mem = mmap(NULL, 2 * LONG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	connected = life_open() && life_connect();
	if (connected) {
		(void)(life_message(16, true) && life_message(16, false) &&
		       life_message(5000, false) &&
		       life_message(LONG, true) && life_message(LONG, false) && life_rdma());
		life_disconnect();
	}
	life_close();
	munmap(life.mem, 2 * LONG);
}

/* Runs one life with a failing call, and checks what it leaves behind. */
static int life_judge(faults_arm_fn *arm, long nth, bool from)
{
	unsigned int fds, threads, maps;

	alarm(LIFE_S);
	fds = entries("/proc/self/fd");
	threads = entries("/proc/self/task");
	arm(nth, from);
	life_live();
	arm(0, 0);
	if (!soon("/proc/self/fd", fds))
		wrong("%u descriptors instead of %u", entries("/proc/self/fd"), fds);
	if (!soon("/proc/self/task", threads))
		wrong("%u threads instead of %u", entries("/proc/self/task") - 2, threads - 2);
	/* if those of the adapter could not be replaced when it was closed, they are ended when the next one is */
	if (shared_mappings())
		life_live();
	maps = shared_mappings();
	if (maps)
		wrong("%u mappings of shared memory are left", maps);
	return reason != NULL;
}

/* Returns true if the life had no error. Each life has a realm of its own, because a listener may outlast its life. */
static bool life_try(faults_arm_fn *arm, long nth, bool from)
{
	char realm[64];
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		snprintf(realm, sizeof(realm), "faults-%d", (int)getpid());
		setenv("DAT_SOFT_REALM", realm, 1);
		_exit(life_judge(arm, nth, from));
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	printf("# call %ld %s: %s\n", nth, from ? "and all after it" : "alone",
	       WIFEXITED(status) ? "see above" : WTERMSIG(status) == SIGALRM ? "hangs" :
	       strsignal(WTERMSIG(status)));
	return false;
}

/* Returns the number of calls in a life in which none fails, or 0 if that life had an error. */
static long life_count(faults_arm_fn *arm, faults_count_fn *count)
{
	long calls = 0;
	int fds[2];
	pid_t pid;

	if (pipe(fds))
		return 0;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		alarm(LIFE_S);
		arm(0, 0);
		life_live();
		calls = reason ? 0 : count();
		_exit(write(fds[1], &calls, sizeof(calls)) != sizeof(calls));
	}
	close(fds[1]);
	if (read(fds[0], &calls, sizeof(calls)) != sizeof(calls))
		calls = 0;
	close(fds[0]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return calls;
}

static void verdict(int number, bool good, const char *what)
{
	printf("%sok %d - faults: %s\n", good ? "" : "not ", number, what);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	long stride = argc > 1 ? atol(argv[1]) : 1, calls;
	faults_count_fn *count;
	faults_arm_fn *arm;
	bool good[2] = { true, true };

	*(void **)&arm = dlsym(RTLD_DEFAULT, FAULTS_ARM);
	*(void **)&count = dlsym(RTLD_DEFAULT, FAULTS_COUNT);
	if (!arm || !count) {
		fputs("lifecycle: start it with LD_PRELOAD=libfaults.so\n", stderr);
		return 2;
	}
	if (argc > 2)
		return life_judge(arm, atol(argv[2]), strcmp(argv[1], "from") == 0);
	calls = life_count(arm, count);
	printf("1..3\n# %ld calls\n", calls);
	verdict(1, calls > 50, "a life without a fault is a good one");
	for (int from = 0; from < 2; from++) {
		for (long n = 1; n <= calls + 5; n += stride > 0 ? stride : 1)
			if (!life_try(arm, n, from))
				good[from] = false;
		verdict(2 + from, good[from], from ? "from any call on all fail" : "any one call fails");
	}
	return !(calls > 50 && good[0] && good[1]);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* NICs, their names, protection tags, memory, and the name service. */
#include <dirent.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "world.h"

static struct side s;

static void open_nic(void)
{
	side_open(&s);
}

static void close_nic(void)
{
	unsetenv("VIPL_NIC_MAP");
	unsetenv("VIPL_QUEUE_DEPTH");
	unsetenv("VIPL_MAX_TRANSFER_SIZE");
	side_close(&s);
}

static void opens_as(const char *name)
{
	VIP_NIC_ATTRIBUTES attr;
	VIP_NIC_HANDLE nic;

	REQUIRE_VIP(VipOpenNic(name, &nic), VIP_SUCCESS);
	CHECK_VIP(VipQueryNic(nic, &attr), VIP_SUCCESS);
	CHECK_EQ_STR(attr.Name, name);
	CHECK_VIP(VipCloseNic(nic), VIP_SUCCESS);
}

static void names_of_old_open_the_first_adapter(void)
{
	opens_as("VINIC");
	opens_as("VINIC0");
	opens_as("/dev/clanvi0");
	opens_as("/dev/via_lo");
}

static void the_map_says_what_a_name_stands_for(void)
{
	VIP_NIC_HANDLE nic;
	char map[200];

	snprintf(map, sizeof(map), "other=nothing,my nic=%s,empty=", adapter());
	setenv("VIPL_NIC_MAP", map, 1);
	opens_as("my nic");
	CHECK_VIP(VipOpenNic("empty", &nic), VIP_ERROR_RESOURCE);
	check_stderr_begin();
	CHECK_VIP(VipOpenNic("other", &nic), VIP_ERROR_RESOURCE);
	check_stderr_end();
}

static void an_unknown_name_is_refused(void)
{
	VIP_NIC_HANDLE nic = &s;

	CHECK_VIP(VipOpenNic("nosuch", &nic), VIP_ERROR_RESOURCE);
	CHECK_VIP(VipOpenNic("VINIC99", &nic), VIP_ERROR_RESOURCE);
	CHECK_VIP(VipOpenNic("VINICx", &nic), VIP_ERROR_RESOURCE);
	CHECK_VIP(VipOpenNic("", &nic), VIP_ERROR_RESOURCE);
	CHECK_VIP(VipOpenNic(NULL, &nic), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipOpenNic(adapter(), NULL), VIP_INVALID_PARAMETER);
	CHECK(nic == &s);
}

static void attributes_make_sense(void)
{
	CHECK_EQ_STR(s.nic_attr.Name, adapter());
	CHECK_EQ_INT(s.nic_attr.NicAddressLen, 4);
	CHECK_EQ_INT(s.nic_attr.ThreadSafe, VIP_TRUE);
	CHECK(s.nic_attr.MaxDiscriminatorLen >= 12);
	CHECK(s.nic_attr.MaxTransferSize >= 32768);
	CHECK(s.nic_attr.MaxDescriptorsPerQueue >= 64);
	CHECK(s.nic_attr.MaxSegmentsPerDesc >= 2);
	CHECK(s.nic_attr.ReliabilityLevelSupport & VIP_SERVICE_RELIABLE_DELIVERY);
	CHECK(s.nic_attr.RDMAReadSupport & VIP_SERVICE_RELIABLE_DELIVERY);
	CHECK_VIP(VipQueryNic(s.nic, NULL), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipQueryNic(NULL, &s.nic_attr), VIP_INVALID_PARAMETER);
}

static void limits_can_be_set_from_outside(void)
{
	VIP_NIC_ATTRIBUTES attr;
	const char *said;
	VIP_NIC_HANDLE nic;

	setenv("VIPL_QUEUE_DEPTH", "20", 1);
	setenv("VIPL_MAX_TRANSFER_SIZE", "40000", 1);
	REQUIRE_VIP(VipOpenNic(adapter(), &nic), VIP_SUCCESS);
	CHECK_VIP(VipQueryNic(nic, &attr), VIP_SUCCESS);
	CHECK_EQ_INT(attr.MaxDescriptorsPerQueue, 20);
	CHECK_EQ_INT(attr.MaxTransferSize, 40000);
	CHECK_VIP(VipCloseNic(nic), VIP_SUCCESS);
	/* more than the default, up to the adapter's limit */
	setenv("VIPL_MAX_TRANSFER_SIZE", "0xFFFFFFFF", 1);
	REQUIRE_VIP(VipOpenNic(adapter(), &nic), VIP_SUCCESS);
	CHECK_VIP(VipQueryNic(nic, &attr), VIP_SUCCESS);
	CHECK(attr.MaxTransferSize > s.nic_attr.MaxTransferSize);
	CHECK(attr.MaxTransferSize < 0xFFFFFFFF);
	CHECK_VIP(VipCloseNic(nic), VIP_SUCCESS);
	setenv("VIPL_QUEUE_DEPTH", "many", 1);
	setenv("VIPL_MAX_TRANSFER_SIZE", "-1", 1);
	check_stderr_begin();
	REQUIRE_VIP(VipOpenNic(adapter(), &nic), VIP_SUCCESS);
	said = check_stderr_end();
	CHECK_HAS_STR(said, "VIPL_QUEUE_DEPTH=many is not a number of at least 1");
	CHECK_HAS_STR(said, "VIPL_MAX_TRANSFER_SIZE=-1 is not a number of at least 1");
	CHECK_VIP(VipQueryNic(nic, &attr), VIP_SUCCESS);
	CHECK_EQ_INT(attr.MaxDescriptorsPerQueue, s.nic_attr.MaxDescriptorsPerQueue);
	CHECK_EQ_INT(attr.MaxTransferSize, s.nic_attr.MaxTransferSize);
	CHECK_VIP(VipCloseNic(nic), VIP_SUCCESS);
}

/* Opens a NIC without privileges and with a limit of 4 MiB of locked memory. `arg`: the amount offered without the limit. */
static void open_with_little_to_lock(void *arg)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	const struct rlimit limit = { 4 << 20, 4 << 20 };
	const VIP_ULONG *offered = arg;
	VIP_NIC_ATTRIBUTES attr;
	VIP_NIC_HANDLE nic;

	REQUIRE(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
	REQUIRE(syscall(SYS_capset, &head, none) == 0);
	REQUIRE_VIP(VipOpenNic(adapter(), &nic), VIP_SUCCESS);
	CHECK_VIP(VipQueryNic(nic, &attr), VIP_SUCCESS);
	/* soft0 does not lock memory, so the limit does not count */
	CHECK_EQ_INT(attr.MaxRegisterBytes,
		     strcmp(adapter(), "soft0") == 0 ? *offered : 4 << 20);
	CHECK_EQ_INT(attr.MaxRegisterBlockBytes, attr.MaxRegisterBytes);
	CHECK_VIP(VipCloseNic(nic), VIP_SUCCESS);
}

static void no_more_is_offered_for_registration_than_can_be_locked(void)
{
	VIP_ULONG offered = s.nic_attr.MaxRegisterBytes;

	/* programs keep the value in a signed number */
	CHECK((long)s.nic_attr.MaxRegisterBytes > 0);
	CHECK_EQ_INT(s.nic_attr.MaxRegisterBytes % 4096, 0);
	CHECK(s.nic_attr.MaxRegisterBlockBytes <= s.nic_attr.MaxRegisterBytes);
	/* the thread sanitizer reports a fork of a process that has several threads */
	side_close(&s);
	check_join(check_fork(open_with_little_to_lock, &offered));
	side_open(&s);
}

static void two_opens_are_two_nics(void)
{
	VIP_NIC_HANDLE other;

	REQUIRE_VIP(VipOpenNic(adapter(), &other), VIP_SUCCESS);
	CHECK(other != s.nic);
	CHECK_VIP(VipCloseNic(other), VIP_SUCCESS);
	CHECK_VIP(VipCloseNic(other), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipQueryNic(s.nic, &s.nic_attr), VIP_SUCCESS);
}

static void a_nic_with_vis_is_not_closed(void)
{
	s.attr.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY;
	side_create_vi(&s);
	CHECK_VIP(VipCloseNic(s.nic), VIP_ERROR_RESOURCE);
	CHECK_EQ_INT(state_of(&s), VIP_STATE_IDLE);
}

static void a_nic_with_a_completion_queue_is_not_closed(void)
{
	REQUIRE_VIP(VipCreateCQ(s.nic, 8, &s.cq), VIP_SUCCESS);
	CHECK_VIP(VipCloseNic(s.nic), VIP_ERROR_RESOURCE);
}

static void tags_and_memory_go_with_the_nic(void)
{
	static char memory[4096];
	VIP_MEM_ATTRIBUTES attr = { .Ptag = NULL };
	VIP_PROTECTION_HANDLE ptag;
	VIP_MEM_HANDLE handle;
	VIP_NIC_HANDLE nic;

	REQUIRE_VIP(VipOpenNic(adapter(), &nic), VIP_SUCCESS);
	CHECK_VIP(VipCreatePtag(nic, &ptag), VIP_SUCCESS);
	attr.Ptag = ptag;
	CHECK_VIP(VipRegisterMem(nic, memory, sizeof(memory), &attr, &handle), VIP_SUCCESS);
	CHECK_VIP(VipCloseNic(nic), VIP_SUCCESS);
}

static void a_tag_in_use_is_not_destroyed(void)
{
	static char memory[64];
	VIP_MEM_ATTRIBUTES attr = { .Ptag = NULL };
	VIP_PROTECTION_HANDLE ptag;
	VIP_MEM_HANDLE handle;

	REQUIRE_VIP(VipCreatePtag(s.nic, &ptag), VIP_SUCCESS);
	attr.Ptag = ptag;
	REQUIRE_VIP(VipRegisterMem(s.nic, memory, 64, &attr, &handle), VIP_SUCCESS);
	CHECK_VIP(VipDestroyPtag(s.nic, ptag), VIP_ERROR_RESOURCE);
	CHECK_VIP(VipDeregisterMem(s.nic, memory, handle), VIP_SUCCESS);
	CHECK_VIP(VipDestroyPtag(s.nic, ptag), VIP_SUCCESS);
	CHECK_VIP(VipDestroyPtag(s.nic, ptag), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipDestroyPtag(s.nic, NULL), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipRegisterMem(s.nic, memory, 64, &attr, &handle), VIP_INVALID_PTAG);
}

static void handles_of_memory_are_not_0_and_differ(void)
{
	static char memory[3][64];
	VIP_MEM_ATTRIBUTES attr = { .EnableRdmaWrite = VIP_FALSE };
	VIP_MEM_HANDLE handle[3];

	for (int i = 0; i < 3; i++) {
		attr.EnableRdmaRead = i == 1;
		REQUIRE_VIP(VipRegisterMem(s.nic, memory[i], 64, &attr, &handle[i]), VIP_SUCCESS);
		CHECK(handle[i] != 0 && handle[i] != s.handle);
	}
	CHECK(handle[0] != handle[1] && handle[1] != handle[2] && handle[0] != handle[2]);
	for (int i = 0; i < 3; i++)
		CHECK_VIP(VipDeregisterMem(s.nic, memory[i], handle[i]), VIP_SUCCESS);
	CHECK_VIP(VipDeregisterMem(s.nic, memory[0], handle[0]), VIP_INVALID_PARAMETER);
}

static void bad_memory_is_refused(void)
{
	static char memory[64];
	VIP_MEM_ATTRIBUTES attr = { .EnableRdmaWrite = VIP_FALSE };
	VIP_MEM_HANDLE handle = 0;

	CHECK_VIP(VipRegisterMem(s.nic, NULL, 64, &attr, &handle), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipRegisterMem(s.nic, memory, 0, &attr, &handle), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipRegisterMem(s.nic, memory, 64, NULL, &handle), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipRegisterMem(s.nic, memory, 64, &attr, NULL), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipRegisterMem(NULL, memory, 64, &attr, &handle), VIP_INVALID_PARAMETER);
	CHECK_EQ_INT(handle, 0);
	CHECK_VIP(VipDeregisterMem(s.nic, s.block + 1, s.handle), VIP_INVALID_PARAMETER);
}

static void the_tag_of_private_memory_can_be_changed(void)
{
	static char memory[64];
	VIP_MEM_ATTRIBUTES attr = { .Ptag = NULL }, now;
	VIP_PROTECTION_HANDLE ptag;
	VIP_MEM_HANDLE handle;

	REQUIRE_VIP(VipCreatePtag(s.nic, &ptag), VIP_SUCCESS);
	REQUIRE_VIP(VipRegisterMem(s.nic, memory, 64, &attr, &handle), VIP_SUCCESS);
	attr.Ptag = ptag;
	CHECK_VIP(VipSetMemAttributes(s.nic, memory, handle, &attr), VIP_SUCCESS);
	CHECK_VIP(VipQueryMem(s.nic, memory, handle, &now), VIP_SUCCESS);
	CHECK(now.Ptag == ptag);
	CHECK_VIP(VipDestroyPtag(s.nic, ptag), VIP_ERROR_RESOURCE);
	attr.EnableRdmaWrite = VIP_TRUE;
	CHECK_VIP(VipSetMemAttributes(s.nic, memory, handle, &attr), VIP_ERROR_RESOURCE);
	CHECK_VIP(VipSetMemAttributes(s.nic, memory + 1, handle, &attr), VIP_INVALID_PARAMETER);
	CHECK_VIP(VipDeregisterMem(s.nic, memory, handle), VIP_SUCCESS);
	CHECK_VIP(VipDestroyPtag(s.nic, ptag), VIP_SUCCESS);
}

static void this_host_has_a_name_and_an_address(void)
{
	union address address = { .bytes = { 0 } };
	char host[256] = "", name[256];
	VIP_ULONG length = sizeof(name);

	CHECK_VIP(VipNSGetHostByName(s.nic, "localhost", &address.net, 0), VIP_ERROR_NAMESERVICE);
	REQUIRE_VIP(VipNSInit(s.nic, NULL), VIP_SUCCESS);
	CHECK_VIP(VipNSGetHostByName(s.nic, "localhost", &address.net, 0), VIP_SUCCESS);
	CHECK_EQ_INT(address.net.HostAddressLen, 4);
	CHECK_EQ_INT(address.net.DiscriminatorLen, 0);
	CHECK_EQ_MEM(address.bytes + 4, s.nic_attr.LocalNicAddress, 4);
	CHECK_VIP(VipNSGetHostByName(s.nic, "localhost", &address.net, 1000),
		  VIP_ERROR_NAMESERVICE);
	gethostname(host, sizeof(host) - 1);
	CHECK_VIP(VipNSGetHostByName(s.nic, host, NULL, 0), VIP_INVALID_PARAMETER);
	memcpy(address.bytes + 4, "\x7f\0\0\1", 4);
	CHECK_VIP(VipNSGetHostByAddr(s.nic, &address.net, name, &length), VIP_SUCCESS);
	CHECK_EQ_INT(length, strlen(name) + 1);
	length = 1;
	CHECK_VIP(VipNSGetHostByAddr(s.nic, &address.net, name, &length), VIP_ERROR_RESOURCE);
	CHECK_EQ_INT(length, strlen(name) + 1);
	CHECK_VIP(VipNSShutdown(s.nic), VIP_SUCCESS);
	CHECK_VIP(VipNSShutdown(s.nic), VIP_ERROR_NAMESERVICE);
}

static void management_knows_nothing(void)
{
	VIP_AUTODISCOVERY_LIST list = { .NumAdAddrs = 7 };

	CHECK_VIP(VipQuerySystemManagementInfo(s.nic, VIP_SMI_AUTODISCOVERY, &list), VIP_SUCCESS);
	CHECK_EQ_INT(list.NumAdAddrs, 0);
	CHECK_VIP(VipQuerySystemManagementInfo(s.nic, 2, &list), VIP_INVALID_PARAMETER);
}

/* Returns whether a thread of this process blocks the signals that programs use; true if it has ended. */
static bool blocks_signals(const char *thread)
{
	static const int used[] = { SIGINT, SIGTERM, SIGUSR1, SIGPIPE, SIGALRM };
	unsigned long long blocked = ~0ull, want = 0;
	char path[64], line[128];
	FILE *file;
	size_t i;

	for (i = 0; i < sizeof(used) / sizeof(used[0]); i++)
		want |= 1ull << (used[i] - 1);
	snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", thread);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "SigBlk: %llx", &blocked);
	if (file)
		fclose(file);
	return (blocked & want) == want;
}

static unsigned int other_threads_block_signals(void)
{
	DIR *threads = opendir("/proc/self/task");
	struct dirent *thread;
	unsigned int others = 0;

	REQUIRE(threads != NULL);
	while ((thread = readdir(threads))) {
		if (thread->d_name[0] == '.' || atoi(thread->d_name) == (int)syscall(SYS_gettid))
			continue;
		others++;
		REQUIRE(blocks_signals(thread->d_name));
	}
	closedir(threads);
	return others;
}

/*
 * A handler of the program would run within the locks of the library. The C library blocks all signals in a thread that is about
 * to begin, so the test looks for a while.
 */
static void signals_are_not_for_the_threads_of_the_library(void)
{
	int i;

	for (i = 0; i < 50; i++, usleep(1000))
		CHECK(other_threads_block_signals() > 1);
}

static const struct check_test tests[] = {
	CHECK_TEST(names_of_old_open_the_first_adapter),
	CHECK_TEST(the_map_says_what_a_name_stands_for),
	CHECK_TEST(an_unknown_name_is_refused),
	CHECK_TEST(attributes_make_sense),
	CHECK_TEST(limits_can_be_set_from_outside),
	CHECK_TEST(no_more_is_offered_for_registration_than_can_be_locked),
	CHECK_TEST(two_opens_are_two_nics),
	CHECK_TEST(signals_are_not_for_the_threads_of_the_library),
	CHECK_TEST(a_nic_with_vis_is_not_closed),
	CHECK_TEST(a_nic_with_a_completion_queue_is_not_closed),
	CHECK_TEST(tags_and_memory_go_with_the_nic),
	CHECK_TEST(a_tag_in_use_is_not_destroyed),
	CHECK_TEST(handles_of_memory_are_not_0_and_differ),
	CHECK_TEST(bad_memory_is_refused),
	CHECK_TEST(the_tag_of_private_memory_can_be_changed),
	CHECK_TEST(this_host_has_a_name_and_an_address),
	CHECK_TEST(management_knows_nothing),
	CHECK_END,
};
static const struct check_suite nic = {
	.name = "nic", .setup = open_nic, .teardown = close_nic, .tests = tests
};

CHECK_SUITES(&nic);

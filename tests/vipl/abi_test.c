/* SPDX-License-Identifier: BSD-2-Clause */
/* The header: values, layouts, and that both dialects compile. dialect.cc is the same in C++. */
#include <stddef.h>

#include "check.h"
#include "vipl.h"

#define AT(type, member, offset, size) \
	_Static_assert(offsetof(type, member) == (offset) && \
		       sizeof(((type *)0)->member) == (size), #type "." #member)
#define WHOLE(type, size) _Static_assert(sizeof(type) == (size), #type)

WHOLE(VIP_PVOID64, 8);
WHOLE(VIP_ULONG, sizeof(long));
WHOLE(VIP_MEM_HANDLE, 4);
WHOLE(VIP_CONTROL_SEGMENT, 32);
AT(VIP_CONTROL_SEGMENT, Next, 0, 8);
AT(VIP_CONTROL_SEGMENT, NextHandle, 8, 4);
AT(VIP_CONTROL_SEGMENT, SegCount, 12, 2);
AT(VIP_CONTROL_SEGMENT, Control, 14, 2);
AT(VIP_CONTROL_SEGMENT, Reserved, 16, 4);
AT(VIP_CONTROL_SEGMENT, ImmediateData, 20, 4);
AT(VIP_CONTROL_SEGMENT, Length, 24, 4);
AT(VIP_CONTROL_SEGMENT, Status, 28, 4);
WHOLE(VIP_ADDRESS_SEGMENT, 16);
AT(VIP_ADDRESS_SEGMENT, Handle, 8, 4);
WHOLE(VIP_DATA_SEGMENT, 16);
AT(VIP_DATA_SEGMENT, Handle, 8, 4);
AT(VIP_DATA_SEGMENT, Length, 12, 4);
WHOLE(VIP_DESCRIPTOR_SEGMENT, 16);
WHOLE(VIP_DESCRIPTOR, 64);
AT(VIP_DESCRIPTOR, DS, 32, 32);
AT(VIP_DESCRIPTOR, Control, 0, 32);
AT(VIP_DESCRIPTOR, Data, 32, 32);
WHOLE(VIP_NET_ADDRESS, 6);
AT(VIP_NET_ADDRESS, DiscriminatorLen, 2, 2);
_Static_assert(offsetof(VIP_NET_ADDRESS, HostAddress) == 4, "HostAddress");
WHOLE(VIP_NIC_ATTRIBUTES, 200);
AT(VIP_NIC_ATTRIBUTES, HardwareVersion, 64, 8);
AT(VIP_NIC_ATTRIBUTES, NicAddressLen, 80, 2);
AT(VIP_NIC_ATTRIBUTES, LocalNicAddress, 88, 8);
AT(VIP_NIC_ATTRIBUTES, ThreadSafe, 96, 4);
AT(VIP_NIC_ATTRIBUTES, MaxDiscriminatorLen, 100, 2);
AT(VIP_NIC_ATTRIBUTES, MaxRegisterBytes, 104, 8);
AT(VIP_NIC_ATTRIBUTES, MaxTransferSize, 168, 8);
AT(VIP_NIC_ATTRIBUTES, MaxPtags, 184, 8);
AT(VIP_NIC_ATTRIBUTES, ReliabilityLevelSupport, 192, 2);
AT(VIP_NIC_ATTRIBUTES, RDMAReadSupport, 194, 2);
WHOLE(VIP_VI_ATTRIBUTES, 40);
AT(VIP_VI_ATTRIBUTES, MaxTransferSize, 8, 8);
AT(VIP_VI_ATTRIBUTES, QoS, 16, 8);
AT(VIP_VI_ATTRIBUTES, Ptag, 24, 8);
AT(VIP_VI_ATTRIBUTES, EnableRdmaWrite, 32, 4);
AT(VIP_VI_ATTRIBUTES, EnableRdmaRead, 36, 4);
WHOLE(VIP_MEM_ATTRIBUTES, 16);
WHOLE(VIP_ERROR_DESCRIPTOR, 48);
AT(VIP_ERROR_DESCRIPTOR, OpCode, 32, 8);
AT(VIP_ERROR_DESCRIPTOR, ErrorCode, 44, 4);
WHOLE(VIP_AUTODISCOVERY_LIST, 24);

#ifndef VIP_NOT_REACHABLE
#error "programs ask for VIP_NOT_REACHABLE"
#endif
#ifndef VIP_ERROR_NOT_SUPPORTED
#error "programs ask for VIP_ERROR_NOT_SUPPORTED"
#endif

int dialect_in_cxx(VIP_DESCRIPTOR *d);

/* Programs declare some functions themselves, and name structures by their tags. This compiles only if the header agrees. */
extern VIP_RETURN VipNSGetHostByName(VIP_NIC_HANDLE, VIP_CHAR *, VIP_NET_ADDRESS *, VIP_ULONG);
extern VIP_RETURN VipAddTagCQ(VIP_CQ_HANDLE, VIP_EVENT_HANDLE *, VIP_ULONG, VIP_ULONG);
extern VIP_RETURN VipRemoveTagCQ(VIP_CQ_HANDLE, VIP_EVENT_HANDLE, VIP_ULONG);
extern VIP_RETURN VipPostDeferredSends(VIP_VI_HANDLE, VIP_BOOLEAN, VIP_BOOLEAN *);
#define SAME(a, b) _Static_assert(_Generic((a *)0, b *: 1, default: 0), #a " is " #b)
SAME(struct _VIP_DESCRIPTOR, VIP_DESCRIPTOR);
SAME(struct _VIP_NET_ADDRESS, VIP_NET_ADDRESS);
SAME(struct _VIP_NIC_ATTRIBUTES, VIP_NIC_ATTRIBUTES);
SAME(struct _VIP_VI_ATTRIBUTES, VIP_VI_ATTRIBUTES);
SAME(struct _VIP_MEM_ATTRIBUTES, VIP_MEM_ATTRIBUTES);
SAME(struct _VIP_ERROR_DESCRIPTOR, VIP_ERROR_DESCRIPTOR);
SAME(enum _VIP_RESOURCE_CODE, VIP_RESOURCE_CODE);
SAME(enum _VIP_ERROR_CODE, VIP_ERROR_CODE);
SAME(VIP_VI_CALLBACK, VIP_VI_HANDLER);
SAME(VIP_CQ_CALLBACK, VIP_CQ_HANDLER);
SAME(VIP_SHORT, short);
SAME(VIP_LONG, long);

static void values_are_those_of_the_table(void)
{
	CHECK_EQ_INT(VIP_NO_MATCH, 14);
	CHECK_EQ_INT(VIP_NOT_REACHABLE, 15);
	CHECK_EQ_INT(VIP_ERROR_NOT_SUPPORTED, 16);
	CHECK_EQ_INT(VIP_ERROR, VIP_DESCRIPTOR_ERROR);
	CHECK_EQ_INT(VIP_STATUS_ERROR_MASK, 0x1FE);
	CHECK_EQ_INT(VIP_STATUS_OP_RDMA_READ, 0x40000);
	CHECK_EQ_INT(VIP_ERROR_CATASTROPHIC, 10);
	CHECK_EQ_INT(VIP_STATE_ERROR, 3);
	CHECK_EQ_INT(VIP_RESOURCE_DESCRIPTOR, 3);
	CHECK_EQ_INT(VIP_BASE_SERVICES, 7);
	CHECK_EQ_INT(VIP_SERVICE_ACK, 1 << 14);
	CHECK_EQ_INT(VIP_SERVICE_DFC, 1 << 15);
	CHECK(VIP_INFINITE == ~0UL);
	CHECK(INFINITE == VIP_INFINITE);
}

static void both_dialects_name_the_same_members(void)
{
	VIP_DESCRIPTOR d = { .CS.Length = 0 };

	d.CS.SegCount = 2;
	d.DS[1].Local.Length = 12;
	CHECK_EQ_INT(d.Control.SegCount, 2);
	CHECK_EQ_INT(d.Data[1].Length, 12);
	d.Data[0].Handle = 7;
	CHECK_EQ_INT(d.DS[0].Local.Handle, 7);
	d.CS.Next.Descriptor = &d;
	CHECK(d.Control.Next.Address == &d);
}

static void a_cxx_program_sees_the_same(void)
{
	VIP_DESCRIPTOR d = { .CS.Length = 3, .CS.Status = VIP_STATUS_DONE };

	d.DS[0].Local.Handle = 5;

	CHECK_EQ_INT(dialect_in_cxx(&d), 4);
}

static const struct check_test tests[] = {
	CHECK_TEST(values_are_those_of_the_table),
	CHECK_TEST(both_dialects_name_the_same_members),
	CHECK_TEST(a_cxx_program_sees_the_same),
	CHECK_END,
};
static const struct check_suite header = { .name = "header", .tests = tests };

CHECK_SUITES(&header);

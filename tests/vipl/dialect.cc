// SPDX-License-Identifier: BSD-2-Clause
// The header as C++: see abi_test.c.
#include "vipl.h"

extern "C" int dialect_in_cxx(VIP_DESCRIPTOR *d);

static VIP_VI_CALLBACK on_descriptor;
static VIP_CQ_CALLBACK on_entry;

int dialect_in_cxx(VIP_DESCRIPTOR *d)
{
	struct _VIP_VI_ATTRIBUTES attr = {};
	VIP_DATA_SEGMENT *segment = &d->Data[0];

	attr.ReliabilityLevel = VIP_BASE_SERVICES & VIP_SERVICE_RELIABLE_DELIVERY;
	if (on_descriptor || on_entry || attr.ReliabilityLevel == 0 || segment->Handle != 5)
		return -1;
	return static_cast<int>(d->Control.Length + (d->CS.Status & VIP_STATUS_DONE));
}

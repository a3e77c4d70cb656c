// SPDX-License-Identifier: BSD-2-Clause
// The header as C++: see abi_test.c.
#include "vipl.h"

extern "C" int dialect_in_cxx(VIP_DESCRIPTOR *d);

int dialect_in_cxx(VIP_DESCRIPTOR *d)
{
	return static_cast<int>(d->Control.Length + (d->CS.Status & VIP_STATUS_DONE));
}

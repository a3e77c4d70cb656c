/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns NICs: each is an open IA. Invariant: a handle is valid exactly while the NIC is on all_nics,
 * so the handle of a closed NIC is refused, and its memory never read.
 */
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "impl.h"

enum { TRANSFER_UNIT = 4096 };	/* limits of lengths are multiples of it */

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct nic *all_nics;	/* all_lock */

struct nic *nic_get(VIP_NIC_HANDLE handle)
{
	struct nic *nic;

	pthread_mutex_lock(&all_lock);
	for (nic = all_nics; nic != NULL && nic != handle; nic = nic->next)
		;
	pthread_mutex_unlock(&all_lock);
	return nic;
}

static void visit_locked(bool (*visit)(struct nic *nic, void *arg), void *arg)
{
	for (struct nic *nic = all_nics; nic != NULL && !visit(nic, arg); nic = nic->next)
		;
}

/* Calls visit() for each NIC until it returns true. */
void nic_visit(bool (*visit)(struct nic *nic, void *arg), void *arg)
{
	pthread_mutex_lock(&all_lock);
	visit_locked(visit, arg);
	pthread_mutex_unlock(&all_lock);
}

/* The same, unless the lock cannot be taken within `ms` milliseconds; then does nothing. */
void nic_visit_within(bool (*visit)(struct nic *nic, void *arg), void *arg, unsigned int ms)
{
	if (!lock_within(&all_lock, ms))
		return;
	visit_locked(visit, arg);
	pthread_mutex_unlock(&all_lock);
}

static void nic_list(struct nic *nic)
{
	nic->owner = getpid();
	pthread_mutex_lock(&all_lock);
	nic->next = all_nics;
	all_nics = nic;
	pthread_mutex_unlock(&all_lock);
}

static unsigned long smaller(unsigned long a, unsigned long b)
{
	return a < b ? a : b;
}

/*
 * Returns a number of at least 1 from the environment. If the variable is unset, returns
 * `otherwise`, and also, with a message, if it has another value.
 */
static unsigned long from_env(const char *name, unsigned long otherwise)
{
	const char *text = secure_getenv(name);
	char *end;
	unsigned long value;

	if (text == NULL || *text == '\0')
		return otherwise;
	/* strtoul() converts -1 to ULONG_MAX */
	value = strtoul(text, &end, 0);
	if (*end == '\0' && value > 0 && strchr(text, '-') == NULL)
		return value;
	complain("%s=%s is not a number of at least 1, so %lu is used; give a number, or unset it",
		 name, text, otherwise);
	return otherwise;
}

static bool env_is_set(const char *name)
{
	const char *text = secure_getenv(name);

	return text != NULL && *text != '\0' && strcmp(text, "0") != 0;
}

/* Returns whether the adapter's transport attribute has this value. */
static bool transport_is(const DAT_IA_ATTR *a, const char *name)
{
	for (DAT_COUNT i = 0; i < a->num_transport_attr; i++)
		if (strcmp(a->transport_attr[i].name, "transport") == 0)
			return strcmp(a->transport_attr[i].value, name) == 0;
	return false;
}

static int iov_of(const DAT_IA_ATTR *a)
{
	int iov = a->max_iov_segments_per_dto - 1;

	if (iov > a->max_iov_segments_per_rdma_write)
		iov = a->max_iov_segments_per_rdma_write;
	return iov > MAX_SEGMENTS ? MAX_SEGMENTS : iov;
}

/*
 * Returns MaxTransferSize. The lengths in a descriptor and on the wire have 32 bits, but programs
 * keep the limit in an int, halve it and align it. So it is a multiple of 4 KiB below 2^31, unless
 * the administrator sets another.
 */
static VIP_ULONG largest_transfer(const DAT_IA_ATTR *a)
{
	unsigned long most = a->max_message_size - sizeof(struct wire_head), usual;

	most = smaller(smaller(most, a->max_rdma_size), UINT32_MAX - sizeof(struct wire_head));
	usual = smaller(most, INT32_MAX);
	if (usual > TRANSFER_UNIT)
		usual -= usual % TRANSFER_UNIT;
	return smaller(most, from_env("VIPL_MAX_TRANSFER_SIZE", usual));
}

/* Returns whether the kernel lets this process lock any amount of memory. */
static bool locks_freely(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &head, sets) == 0 &&
	       sets[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK);
}

/*
 * Returns how many bytes can be registered. The limit of an adapter is often the greatest 64-bit
 * number, but programs keep it in a signed one. A driver locks what is registered, and the kernel
 * limits that.
 */
static VIP_ULONG most_registered(const struct nic *nic)
{
	unsigned long most = smaller(nic->ia_attr.max_lmr_block_size, LONG_MAX);
	struct rlimit limit;

	if (nic->has_driver && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
	    limit.rlim_cur < most && !locks_freely())
		most = limit.rlim_cur;
	return most - most % TRANSFER_UNIT;
}

static void fill_limits(struct nic *nic)
{
	const DAT_IA_ATTR *a = &nic->ia_attr;
	VIP_NIC_ATTRIBUTES *n = &nic->attr;

	n->MaxTransferSize = largest_transfer(a);
	n->NativeMTU = n->MaxTransferSize;
	nic->depth = (uint32_t)smaller(from_env("VIPL_QUEUE_DEPTH", DEFAULT_DEPTH),
				       (unsigned long)(a->max_dto_per_ep - 1) / 2);
	n->MaxDescriptorsPerQueue = nic->depth;
	n->MaxSegmentsPerDesc = (VIP_ULONG)iov_of(a);
	n->MaxRegisterBytes = n->MaxRegisterBlockBytes = most_registered(nic);
	n->MaxRegisterRegions = (VIP_ULONG)a->max_lmrs;
	n->MaxVI = (VIP_ULONG)a->max_eps;
	n->MaxCQ = (VIP_ULONG)a->max_evds;
	n->MaxCQEntries = (VIP_ULONG)a->max_evd_qlen;
	n->MaxPtags = (VIP_ULONG)a->max_pzs;
	n->MaxDiscriminatorLen = MAX_DISC;
}

/*
 * On iWARP the completion of a send only says that the message has left, so there is no reliable
 * reception, and the active side of a connection has to be the first to send. An adapter that needs
 * remote write access to the sink of an RDMA read is treated as iWARP, whatever its attribute says.
 * Unreliable VIs are served by reliable connections.
 */
static void fill_levels(struct nic *nic)
{
	nic->greets = nic->read_needs_write || transport_is(&nic->ia_attr, "iWARP");
	nic->attr.RDMAReadSupport = VIP_SERVICE_RELIABLE_DELIVERY;
	if (!nic->greets)
		nic->attr.RDMAReadSupport |= VIP_SERVICE_RELIABLE_RECEPTION;
	nic->attr.ReliabilityLevelSupport = VIP_SERVICE_UNRELIABLE | nic->attr.RDMAReadSupport;
}

static int nic_ask(struct nic *nic, const char *device)
{
	DAT_PROVIDER_ATTR provider;
	struct net_addr here;

	if (dat_ia_query(nic->ia, NULL, DAT_IA_FIELD_ALL, &nic->ia_attr, DAT_PROVIDER_FIELD_ALL,
			 &provider) != DAT_SUCCESS)
		return -1;
	net_addr_of_sockaddr(nic->ia_attr.ia_address_ptr, &here);
	if (here.host_len == 0 || provider.max_private_data_size < WIRE_HELLO_MAX)
		return -1;
	memcpy(nic->address, here.host, here.host_len);
	net_addr_to_sockaddr(&here, &nic->sockaddr);
	/* The soft provider has no driver; any other may have one. */
	nic->has_driver = !transport_is(&nic->ia_attr, "shared memory");
	nic->read_needs_write = provider.rdma_write_for_rdma_read_req == DAT_TRUE;
	strncpy(nic->attr.Name, device, sizeof(nic->attr.Name) - 1);
	nic->attr.HardwareVersion = nic->ia_attr.hardware_version_major;
	nic->attr.ProviderVersion = provider.provider_version_major;
	nic->attr.NicAddressLen = here.host_len;
	nic->attr.LocalNicAddress = nic->address;
	nic->attr.ThreadSafe = VIP_TRUE;
	fill_limits(nic);
	fill_levels(nic);
	nic->extended_returns = env_is_set("VIPL_EXTENDED_RETURNS");
	nic->short_addresses = env_is_set("VIPL_SAFE_REMOTE_ADDR");
	return 0;
}

static void nic_free(struct nic *nic)
{
	struct vi *vi;
	struct cq *cq;

	listen_free_all(nic);
	answers_free_all(nic);
	keeper_free_all(nic);
	mem_free_all(nic);
	while ((vi = nic->dead_vis) != NULL) {
		nic->dead_vis = vi->next;
		free(vi);
	}
	while ((cq = nic->dead_cqs) != NULL) {
		nic->dead_cqs = cq->next;
		free(cq);
	}
	pthread_mutex_destroy(&nic->lock);
	pthread_mutex_destroy(&nic->mem_lock);
	free(nic);
}

static struct nic *nic_new(void)
{
	struct nic *nic = calloc(1, sizeof(*nic));

	if (nic == NULL)
		return NULL;
	pthread_mutex_init(&nic->lock, NULL);
	pthread_mutex_init(&nic->mem_lock, NULL);
	answers_init(&nic->answers);
	mem_init();
	return nic;
}

VIP_RETURN VipOpenNic(const VIP_CHAR *device, VIP_NIC_HANDLE *handle)
{
	char name[DAT_NAME_MAX_LENGTH];
	struct nic *nic;

	if (device == NULL || handle == NULL)
		return VIP_INVALID_PARAMETER;
	if (nic_find(device, name, sizeof(name)) == NULL || (nic = nic_new()) == NULL)
		return VIP_ERROR_RESOURCE;
	nic->async_evd = DAT_HANDLE_NULL;
	if (dat_ia_open(name, 64, &nic->async_evd, &nic->ia) != DAT_SUCCESS)
		goto free_nic;
	if (nic_ask(nic, device) || dat_pz_create(nic->ia, &nic->own_ptag.pz) != DAT_SUCCESS ||
	    dat_pz_create(nic->ia, &nic->nobody) != DAT_SUCCESS)
		goto close_ia;
	if (herald_start(nic))
		goto close_ia;
	if (keeper_start(nic))
		goto stop_herald;
	nic_list(nic);
	*handle = nic;
	return VIP_SUCCESS;

stop_herald:
	herald_stop(nic);
close_ia:
	dat_ia_close(nic->ia, DAT_CLOSE_ABRUPT_FLAG);
free_nic:
	nic_free(nic);
	return VIP_ERROR_RESOURCE;
}

static bool nic_in_use_locked(const struct nic *nic)
{
	if (nic->vis != NULL || nic->cqs != NULL)
		return true;
	for (const struct listener *l = nic->listeners; l != NULL; l = l->next)
		if (l->waiters)
			return true;
	return false;
}

/* Takes the NIC off the list, unless it is in use. On success the caller may free it. */
static VIP_RETURN nic_unlist(struct nic *nic)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct nic **at;

	pthread_mutex_lock(&all_lock);
	for (at = &all_nics; *at != NULL && *at != nic; at = &(*at)->next)
		;
	if (*at != NULL) {
		pthread_mutex_lock(&nic->lock);
		ret = nic_in_use_locked(nic) ? VIP_ERROR_RESOURCE : VIP_SUCCESS;
		pthread_mutex_unlock(&nic->lock);
	}
	if (ret == VIP_SUCCESS)
		*at = nic->next;
	pthread_mutex_unlock(&all_lock);
	return ret;
}

VIP_RETURN VipCloseNic(VIP_NIC_HANDLE handle)
{
	struct nic *nic = handle;
	VIP_RETURN ret = nic_unlist(nic);
	int own;

	if (ret != VIP_SUCCESS)
		return ret;
	own = cancel_off();
	keeper_stop(nic);
	herald_stop(nic);
	dat_ia_close(nic->ia, DAT_CLOSE_ABRUPT_FLAG);
	nic_free(nic);
	cancel_restore(own);
	return VIP_SUCCESS;
}

VIP_RETURN VipQueryNic(VIP_NIC_HANDLE handle, VIP_NIC_ATTRIBUTES *attr)
{
	struct nic *nic = nic_get(handle);

	if (nic == NULL || attr == NULL)
		return VIP_INVALID_PARAMETER;
	*attr = nic->attr;
	return VIP_SUCCESS;
}

VIP_RETURN VipQuerySystemManagementInfo(VIP_NIC_HANDLE handle, VIP_ULONG type, VIP_PVOID info)
{
	VIP_AUTODISCOVERY_LIST *list = info;

	if (nic_get(handle) == NULL || list == NULL || type != VIP_SMI_AUTODISCOVERY)
		return VIP_INVALID_PARAMETER;
	list->NumberOfHops = 0;
	list->NumAdAddrs = 0;
	return VIP_SUCCESS;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns registered memory and protection tags. Invariant: a handle names one region of the NIC, and
 * equals the key (RMR context) that peers use if they have a right to it. The epoch changes before
 * a registration ends or changes, and post.c does not use a copy that it made under an older
 * epoch.
 */
#include <stdlib.h>
#include <time.h>

#include "fence/fence_others.h"
#include "impl.h"

/* Tells the kernel that wait_for_copies() will use fence_others(). If it refuses, that only takes longer. */
void mem_init(void)
{
	fence_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

struct ptag *ptag_get(struct nic *nic, VIP_PROTECTION_HANDLE handle)
{
	struct ptag *ptag = handle == NULL ? &nic->own_ptag : NULL;

	pthread_mutex_lock(&nic->mem_lock);
	if (ptag == NULL)
		for (ptag = nic->ptags; ptag != NULL && ptag != handle; ptag = ptag->next)
			;
	if (ptag != NULL)
		ptag->users++;
	pthread_mutex_unlock(&nic->mem_lock);
	return ptag;
}

void ptag_put(struct nic *nic, struct ptag *ptag)
{
	pthread_mutex_lock(&nic->mem_lock);
	ptag->users--;
	pthread_mutex_unlock(&nic->mem_lock);
}

/*
 * Returns the tag of all registered memory, if that has only one tag. If no memory is registered,
 * returns the only tag that the program has created. Otherwise returns NULL.
 */
static struct ptag *only_tag_locked(struct nic *nic)
{
	struct ptag *only = nic->own_ptag.regions ? &nic->own_ptag : NULL;

	for (struct ptag *ptag = nic->ptags; ptag != NULL; ptag = ptag->next)
		if (ptag->regions) {
			if (only != NULL)
				return NULL;
			only = ptag;
		}
	if (only == NULL && nic->ptags != NULL && nic->ptags->next == NULL)
		only = nic->ptags;
	return only;
}

/*
 * Chooses a tag for a VI without a tag of its own: the one that the memory of its descriptors will most likely have. The VI
 * adopts it.
 */
struct ptag *ptag_adopt_likely(struct nic *nic)
{
	struct ptag *ptag;

	pthread_mutex_lock(&nic->mem_lock);
	ptag = only_tag_locked(nic);
	if (ptag == NULL)
		ptag = &nic->own_ptag;
	ptag->adopters++;
	pthread_mutex_unlock(&nic->mem_lock);
	return ptag;
}

static void ptag_free(struct ptag *ptag)
{
	dat_pz_free(ptag->pz);
	free(ptag);
}

/* Ends the adoption of a tag. The VI has no object in its zone any more. */
void ptag_abandon(struct nic *nic, struct ptag *ptag)
{
	bool last;

	pthread_mutex_lock(&nic->mem_lock);
	ptag->adopters--;
	last = ptag->destroyed && ptag->adopters == 0;
	pthread_mutex_unlock(&nic->mem_lock);
	if (last)
		ptag_free(ptag);
}

/*
 * Returns whether the program has destroyed the tag; then only VIs that have adopted it still use
 * it.
 */
bool ptag_is_destroyed(struct nic *nic, const struct ptag *ptag)
{
	bool destroyed;

	pthread_mutex_lock(&nic->mem_lock);
	destroyed = ptag->destroyed;
	pthread_mutex_unlock(&nic->mem_lock);
	return destroyed;
}

VIP_RETURN VipCreatePtag(VIP_NIC_HANDLE handle, VIP_PROTECTION_HANDLE *out)
{
	struct nic *nic = nic_get(handle);
	struct ptag *ptag;

	if (nic == NULL || out == NULL)
		return VIP_INVALID_PARAMETER;
	ptag = calloc(1, sizeof(*ptag));
	if (ptag == NULL)
		return VIP_ERROR_RESOURCE;
	if (dat_pz_create(nic->ia, &ptag->pz) != DAT_SUCCESS) {
		free(ptag);
		return VIP_ERROR_RESOURCE;
	}
	pthread_mutex_lock(&nic->mem_lock);
	ptag->next = nic->ptags;
	nic->ptags = ptag;
	pthread_mutex_unlock(&nic->mem_lock);
	*out = ptag;
	return VIP_SUCCESS;
}

VIP_RETURN VipDestroyPtag(VIP_NIC_HANDLE handle, VIP_PROTECTION_HANDLE ptag_handle)
{
	struct nic *nic = nic_get(handle);
	VIP_RETURN ret = VIP_SUCCESS;
	struct ptag *ptag = NULL, **at;
	bool adopted = false;

	if (nic == NULL || ptag_handle == NULL)
		return VIP_INVALID_PARAMETER;
	pthread_mutex_lock(&nic->mem_lock);
	for (at = &nic->ptags; *at != NULL && *at != ptag_handle; at = &(*at)->next)
		;
	if (*at == NULL)
		ret = VIP_INVALID_PARAMETER;
	else if ((*at)->users)
		ret = VIP_ERROR_RESOURCE;
	else {
		ptag = *at;
		*at = ptag->next;
		adopted = ptag->destroyed = ptag->adopters > 0;
	}
	pthread_mutex_unlock(&nic->mem_lock);
	if (ptag != NULL && !adopted)
		ptag_free(ptag);
	return ret;
}

static struct mem **bucket(struct nic *nic, VIP_MEM_HANDLE handle)
{
	return &nic->mems[(handle ^ handle >> 8) % MEM_BUCKETS];
}

static struct mem **mem_at_locked(struct nic *nic, VIP_MEM_HANDLE handle)
{
	struct mem **at = bucket(nic, handle);

	while (*at != NULL && (*at)->handle != handle)
		at = &(*at)->next;
	return at;
}

/*
 * Returns the tag of this memory, which a VI without a tag of its own adopts, or NULL if there is
 * no such memory. An adopted tag can still be destroyed by the program.
 */
struct ptag *ptag_adopt(struct nic *nic, VIP_MEM_HANDLE handle)
{
	struct ptag *ptag = NULL;
	struct mem *mem;

	pthread_mutex_lock(&nic->mem_lock);
	mem = *mem_at_locked(nic, handle);
	if (mem != NULL) {
		ptag = mem->ptag;
		ptag->adopters++;
	}
	pthread_mutex_unlock(&nic->mem_lock);
	return ptag;
}

/* Copies what posts need to know of a region. Returns false if there is no such region. */
bool mem_look_up(struct nic *nic, VIP_MEM_HANDLE handle, struct mem_view *view)
{
	struct mem *mem;

	pthread_mutex_lock(&nic->mem_lock);
	mem = *mem_at_locked(nic, handle);
	if (mem != NULL)
		*view = (struct mem_view){
			.handle = handle,
			.context = mem->context,
			.base = mem->base,
			.length = mem->length,
			.ptag = mem->ptag,
		};
	pthread_mutex_unlock(&nic->mem_lock);
	return mem != NULL;
}

/* Returns whether the range is in a region of that handle and tag. */
bool mem_is_at(struct nic *nic, VIP_MEM_HANDLE handle, const struct ptag *ptag, const void *at,
	       uint64_t length)
{
	uintptr_t first = (uintptr_t)at;
	struct mem_view view;

	return mem_look_up(nic, handle, &view) && view.ptag == ptag && first >= view.base &&
	       first - view.base <= view.length && length <= view.length - (first - view.base);
}

static DAT_MEM_PRIV_FLAGS rights_of(const struct nic *nic, const VIP_MEM_ATTRIBUTES *attr)
{
	unsigned int rights = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;

	if (attr->EnableRdmaWrite || nic->read_needs_write)
		rights |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	if (attr->EnableRdmaRead)
		rights |= DAT_MEM_PRIV_REMOTE_READ_FLAG;
	return (DAT_MEM_PRIV_FLAGS)rights;
}

/*
 * Registers the region in the protection zone of its tag. Sets *key to the key that peers use, or
 * to 0.
 */
static VIP_RETURN mem_create_lmr(struct nic *nic, struct mem *mem, DAT_RMR_CONTEXT *key)
{
	DAT_REGION_DESCRIPTION region = { .for_va = (void *)mem->base };
	DAT_RETURN ret;

	*key = 0;
	ret = dat_lmr_create(nic->ia, DAT_MEM_TYPE_VIRTUAL, region, mem->length, mem->ptag->pz,
			     rights_of(nic, &mem->attr), &mem->lmr, &mem->context, key, NULL, NULL);
	if (ret == DAT_SUCCESS)
		return VIP_SUCCESS;
	return DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES ? VIP_ERROR_RESOURCE :
								  VIP_INVALID_PARAMETER;
}

/* Returns a handle for memory to which no peer has access: any number that is not in use. */
static VIP_MEM_HANDLE private_handle_locked(struct nic *nic)
{
	do {
		nic->last_private++;
	} while (nic->last_private == 0 || *mem_at_locked(nic, nic->last_private) != NULL);
	return nic->last_private;
}

/* Enters the region under its key or a private handle. Returns false if its key is 0, which no handle is, or in use. */
static bool mem_enter(struct nic *nic, struct mem *mem, DAT_RMR_CONTEXT key)
{
	bool shared = mem->attr.EnableRdmaWrite || mem->attr.EnableRdmaRead;
	struct mem **at;

	pthread_mutex_lock(&nic->mem_lock);
	mem->handle = shared ? key : private_handle_locked(nic);
	at = mem_at_locked(nic, mem->handle);
	if (mem->handle == 0 || *at != NULL) {
		pthread_mutex_unlock(&nic->mem_lock);
		return false;
	}
	*at = mem;
	mem->ptag->regions++;
	pthread_mutex_unlock(&nic->mem_lock);
	return true;
}

/*
 * If the key of a new region is 0, or in use as a private handle, the region is registered again while the first registration
 * still holds that key, so that it gets another one.
 */
static VIP_RETURN mem_register(struct nic *nic, struct mem *mem)
{
	VIP_RETURN ret;
	DAT_LMR_HANDLE same_key[8];
	unsigned int count = 0;
	DAT_RMR_CONTEXT key;

	while ((ret = mem_create_lmr(nic, mem, &key)) == VIP_SUCCESS && !mem_enter(nic, mem, key)) {
		same_key[count++] = mem->lmr;
		if (count == sizeof(same_key) / sizeof(same_key[0])) {
			ret = VIP_ERROR_RESOURCE;
			break;
		}
	}
	while (count > 0)
		dat_lmr_free(same_key[--count]);
	return ret;
}

VIP_RETURN VipRegisterMem(VIP_NIC_HANDLE handle, VIP_PVOID address, VIP_ULONG length,
			  VIP_MEM_ATTRIBUTES *attr, VIP_MEM_HANDLE *out)
{
	struct nic *nic = nic_get(handle);
	struct ptag *ptag;
	struct mem *mem;
	VIP_RETURN ret;

	if (nic == NULL || address == NULL || length == 0 || attr == NULL || out == NULL)
		return VIP_INVALID_PARAMETER;
	ptag = ptag_get(nic, attr->Ptag);
	if (ptag == NULL)
		return VIP_INVALID_PTAG;
	mem = calloc(1, sizeof(*mem));
	if (mem == NULL) {
		ret = VIP_ERROR_RESOURCE;
		goto put_ptag;
	}
	mem->base = (uintptr_t)address;
	mem->length = length;
	mem->ptag = ptag;
	mem->attr = *attr;
	ret = mem_register(nic, mem);
	if (ret != VIP_SUCCESS)
		goto free_mem;
	*out = mem->handle;
	return VIP_SUCCESS;

free_mem:
	free(mem);
put_ptag:
	ptag_put(nic, ptag);
	return ret;
}

static void epoch_end_locked(struct nic *nic)
{
	/* release: a thread that sees the new epoch looks the handle up again, under the lock */
	atomic_fetch_add_explicit(&nic->mem_epoch, 1, memory_order_release);
}

/* Waits until hand_over() has copied what it copies now: a few bytes, from and to memory of this process. */
static void await_copy(const struct work *w)
{
	const struct timespec nap = { .tv_nsec = 50000 };

	/* acquire: the copy precedes what the caller does next */
	for (unsigned int tries = 0; atomic_load_explicit(&w->copying, memory_order_acquire); tries++)
		if (tries < 100)
			sched_yield();
		else
			nanosleep(&nap, NULL);
}

/*
 * Waits for the threads that copy received data (work.c). A thread sets `copying` before it reads the epoch. After the fence,
 * either this thread sees that, or that thread sees the new epoch. It is not enough to take work->lock: a thread that has it
 * may be held up by a peer in the copy of another message.
 */
static void wait_for_copies(struct nic *nic)
{
	int own;

	if (nic->has_driver)
		return;		/* such a NIC keeps no receives */
	fence_others(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	own = cancel_off();
	pthread_mutex_lock(&nic->lock);
	for (struct vi *vi = nic->vis; vi != NULL; vi = vi->next)
		await_copy(vi->recvq.work);
	pthread_mutex_unlock(&nic->lock);
	cancel_restore(own);
}

VIP_RETURN VipDeregisterMem(VIP_NIC_HANDLE handle, VIP_PVOID address, VIP_MEM_HANDLE mem_handle)
{
	struct nic *nic = nic_get(handle);
	struct mem *mem, **at;

	if (nic == NULL)
		return VIP_INVALID_PARAMETER;
	pthread_mutex_lock(&nic->mem_lock);
	at = mem_at_locked(nic, mem_handle);
	mem = *at;
	if (mem == NULL || mem->base != (uintptr_t)address) {
		pthread_mutex_unlock(&nic->mem_lock);
		return VIP_INVALID_PARAMETER;
	}
	*at = mem->next;
	epoch_end_locked(nic);
	mem->ptag->users--;
	mem->ptag->regions--;
	pthread_mutex_unlock(&nic->mem_lock);
	wait_for_copies(nic);
	dat_lmr_free(mem->lmr);
	free(mem);
	return VIP_SUCCESS;
}

static bool same_right(VIP_BOOLEAN a, VIP_BOOLEAN b)
{
	return !a == !b;
}

/* What a region had before it was moved. It is freed without a lock, because that waits for copies which use the region. */
struct former {
	DAT_LMR_HANDLE lmr;
	struct ptag *ptag;
};

static void former_free(struct nic *nic, const struct former *former)
{
	if (former->ptag == NULL)
		return;
	dat_lmr_free(former->lmr);
	ptag_put(nic, former->ptag);
}

/* Registers the region again, in the zone of another tag, under its present handle. */
static VIP_RETURN mem_move_locked(struct nic *nic, struct mem *mem, struct ptag *ptag, struct former *former)
{
	struct mem moved = *mem;
	DAT_RMR_CONTEXT key;

	moved.ptag = ptag;
	if (mem_create_lmr(nic, &moved, &key) != VIP_SUCCESS)
		return VIP_ERROR_RESOURCE;
	epoch_end_locked(nic);
	*former = (struct former){ mem->lmr, mem->ptag };
	mem->lmr = moved.lmr;
	mem->context = moved.context;
	mem->ptag->regions--;
	ptag->users++;
	ptag->regions++;
	mem->ptag = ptag;
	return VIP_SUCCESS;
}

static VIP_RETURN mem_change_locked(struct nic *nic, struct mem *mem, struct ptag *ptag,
				    const VIP_MEM_ATTRIBUTES *attr, struct former *former)
{
	VIP_RETURN ret = VIP_SUCCESS;

	if (!same_right(mem->attr.EnableRdmaWrite, attr->EnableRdmaWrite) ||
	    !same_right(mem->attr.EnableRdmaRead, attr->EnableRdmaRead))
		return VIP_ERROR_RESOURCE;
	if (ptag != mem->ptag) {
		if (attr->EnableRdmaWrite || attr->EnableRdmaRead)
			return VIP_ERROR_RESOURCE;
		ret = mem_move_locked(nic, mem, ptag, former);
	}
	if (ret == VIP_SUCCESS)
		mem->attr = *attr;
	return ret;
}

VIP_RETURN VipSetMemAttributes(VIP_NIC_HANDLE handle, VIP_PVOID address, VIP_MEM_HANDLE mem_handle,
			       VIP_MEM_ATTRIBUTES *attr)
{
	struct nic *nic = nic_get(handle);
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct former former = { .ptag = NULL };
	struct ptag *ptag;
	struct mem *mem;
	int own;

	if (nic == NULL || attr == NULL)
		return VIP_INVALID_PARAMETER;
	ptag = ptag_get(nic, attr->Ptag);
	if (ptag == NULL)
		return VIP_INVALID_PTAG;
	own = cancel_off();
	pthread_mutex_lock(&nic->mem_lock);
	mem = *mem_at_locked(nic, mem_handle);
	if (mem != NULL && mem->base == (uintptr_t)address)
		ret = mem_change_locked(nic, mem, ptag, attr, &former);
	pthread_mutex_unlock(&nic->mem_lock);
	former_free(nic, &former);
	cancel_restore(own);
	ptag_put(nic, ptag);
	return ret;
}

VIP_RETURN VipQueryMem(VIP_NIC_HANDLE handle, VIP_PVOID address, VIP_MEM_HANDLE mem_handle,
		       VIP_MEM_ATTRIBUTES *attr)
{
	struct nic *nic = nic_get(handle);
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct mem *mem;

	if (nic == NULL || attr == NULL)
		return VIP_INVALID_PARAMETER;
	pthread_mutex_lock(&nic->mem_lock);
	mem = *mem_at_locked(nic, mem_handle);
	if (mem != NULL && mem->base == (uintptr_t)address) {
		*attr = mem->attr;
		ret = VIP_SUCCESS;
	}
	pthread_mutex_unlock(&nic->mem_lock);
	return ret;
}

/*
 * Frees all memory and tags. The IA is closed, which has freed its objects, and no other thread
 * uses the NIC.
 */
void mem_free_all(struct nic *nic)
{
	struct ptag *ptag;
	struct mem *mem;

	for (size_t i = 0; i < MEM_BUCKETS; i++)
		while ((mem = nic->mems[i]) != NULL) {
			nic->mems[i] = mem->next;
			free(mem);
		}
	while ((ptag = nic->ptags) != NULL) {
		nic->ptags = ptag->next;
		free(ptag);
	}
}

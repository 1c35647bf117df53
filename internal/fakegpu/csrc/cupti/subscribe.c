/* The callback API: one subscriber, driver and runtime domains. */
#include "cupti.h"

enum { MAX_CBID = 1024 };

/* What a callback is told: 72 bytes. */
struct callback_data {
	uint32_t site;
	const char *function;
	const void *params;
	void *return_value;
	const char *symbol;
	void *context;
	uint32_t context_uid;
	uint64_t *correlation_data;
	uint32_t correlation;
};
_Static_assert(sizeof(struct callback_data) == 72, "callback data");

typedef void (*callback)(void *user, uint32_t domain, uint32_t cbid, const void *data);

static struct { callback fn; void *user; } subscriber;
static uint8_t on[8][MAX_CBID];

struct subscriber_params { size_t size; const char *name; char *old_name; size_t old_size; };

static int subscribe(void **handle, callback fn, void *user)
{
	if (!handle || !fn)
		return INVALID_PARAMETER;
	if (quirk.subscribed || subscriber.fn)
		return MULTIPLE_SUBSCRIBERS;
	subscriber.user = user;
	subscriber.fn = fn;
	*handle = &subscriber;
	return attach();
}

API int cuptiSubscribe(void **handle, callback fn, void *user)
{
	ENTRY(-1);
	return subscribe(handle, fn, user);
}

API int cuptiSubscribe_v2(void **handle, callback fn, void *user, struct subscriber_params *p)
{
	ENTRY(-1);
	int r = subscribe(handle, fn, user);
	if (r == MULTIPLE_SUBSCRIBERS && p && p->old_name && p->old_size)
		snprintf(p->old_name, p->old_size, "%s", "other-tool");
	return r;
}

API int cuptiUnsubscribe(void *handle)
{
	ENTRY(-1);
	if (handle != &subscriber || !subscriber.fn)
		return INVALID_PARAMETER;
	subscriber.fn = NULL;
	memset(on, 0, sizeof on);
	return SUCCESS;
}

API int cuptiEnableCallback(uint32_t enable, void *handle, uint32_t domain, uint32_t cbid)
{
	ENTRY(cbid);
	if (handle != &subscriber || domain == 0 || domain >= 7 || cbid >= MAX_CBID)
		return INVALID_PARAMETER;
	on[domain][cbid] = enable != 0;
	return SUCCESS;
}

API int cuptiEnableDomain(uint32_t enable, void *handle, uint32_t domain)
{
	ENTRY(domain);
	if (handle != &subscriber || domain == 0 || domain >= 7)
		return INVALID_PARAMETER;
	memset(on[domain], enable != 0, MAX_CBID);
	return SUCCESS;
}

API int cuptiEnableAllDomains(uint32_t enable, void *handle)
{
	ENTRY(enable);
	for (uint32_t d = 1; d < 7; d++) {
		int r = cuptiEnableDomain(enable, handle, d);
		if (r)
			return r;
	}
	return SUCCESS;
}

void subscriber_call(struct fg_api *a, int site)
{
	callback fn = subscriber.fn;
	if (!fn || a->cbid >= MAX_CBID || !on[a->domain][a->cbid])
		return;
	struct callback_data d = {
		.site = (uint32_t)site, .function = callback_name(a->domain, a->cbid),
		.return_value = site ? &a->result : NULL, .context_uid = a->context,
		.correlation_data = &a->user, .correlation = a->correlation};
	fn(subscriber.user, a->domain, a->cbid, &d);
}

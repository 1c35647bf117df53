/* Subscribing, enabling, flushing, and what the runtime reports. */
#include <dlfcn.h>
#include <unistd.h>

#include "mspti.h"

typedef void (*callback_fn)(void *user, uint32_t domain, uint32_t cbid, const void *data);

static int on[N_KINDS];
static int subscribed, registered;
static callback_fn callback;
static void *callback_user;
static int domains[3];
static char the_handle;

int enabled(uint32_t kind) { return kind < N_KINDS && __atomic_load_n(&on[kind], __ATOMIC_ACQUIRE); }

/* The data that callbacks get; only the first two members are set. */
struct callback_data {
	uint32_t site;
	const char *function;
	const void *params, *returned;
	const char *symbol;
	uint64_t correlation, reserved[2];
	uint64_t *own;
};
_Static_assert(sizeof(struct callback_data) == 72 && offsetof(struct callback_data, function) == 8 && offsetof(struct callback_data, correlation) == 40, "callback data");

static void call_back(uint32_t cbid, const char *name)
{
	struct callback_data d;
	if (!callback || !domains[1])
		return;
	memset(&d, 0xA5, sizeof d); /* what was on the stack */
	d.function = name;
	for (d.site = 0; d.site < 2; d.site++)
		callback(callback_user, 1, cbid, &d);
}

static void emit_api(uint32_t kind, const char *name, uint64_t start, uint64_t end)
{
	if (!enabled(kind))
		return;
	struct rec_api r = {.kind = kind, .start = start, .end = end, .pid = (uint32_t)getpid(), .tid = thread_id(),
			    .correlation = thread_correlation(), .name = name};
	if (quirk.aligned) {
		struct { uint32_t kind; uint64_t start, end; uint32_t pid, tid; uint64_t correlation; const char *name; } a = {
			kind, start, end, r.pid, r.tid, r.correlation, name};
		_Static_assert(sizeof a == sizeof r, "the same size, other places");
		emit(&a, sizeof a);
		return;
	}
	emit(&r, sizeof r);
}

static void on_api(uint32_t level, const char *name, uint64_t start, uint64_t end)
{
	emit_api(API_ANY, name, start, end);
	emit_api(level == FA_ACL ? ACL_API : level == FA_NODE ? NODE_API : RUNTIME_API, name, start, end);
}

static uint64_t on_launch(int node)
{
	if (!enabled(node ? COMMUNICATION : KERNEL))
		return 0;
	uint64_t id = take_correlation();
	call_back(10, "LaunchKernel");
	return id;
}

static void on_mark(uint32_t flag, uint64_t id, const char *name, const char *domain, uint64_t at)
{
	if (!enabled(MARKER))
		return;
	struct rec_marker r = {.kind = MARKER, .flag = flag, .source = 0, .timestamp = at, .id = id,
			       .object = {(uint32_t)getpid(), thread_id()}, .name = name ? name : "", .domain = domain};
	emit(&r, sizeof r);
}

static const struct fa_observer observer = {on_api, on_launch, device_task, on_mark};

static void observe(const struct fa_observer *o)
{
	void *acl = dlopen("libascendcl.so", RTLD_NOW | RTLD_LOCAL);
	void (*fn)(const struct fa_observer *) = acl ? (void (*)(const struct fa_observer *))dlsym(acl, "fakeacl_observe") : NULL;
	if (fn)
		fn(o);
}

API int msptiSubscribe(void **handle, callback_fn fn, void *user)
{
	ENTRY(fn != NULL);
	if (!handle)
		return INVALID_PARAMETER;
	if (subscribed || quirk.subscribed)
		return MULTIPLE_SUBSCRIBERS;
	subscribed = 1;
	callback = fn;
	callback_user = user;
	*handle = &the_handle;
	observe(&observer);
	device_start();
	return SUCCESS;
}

API int msptiUnsubscribe(void *handle)
{
	ENTRY(-1);
	if (handle != &the_handle)
		return INVALID_PARAMETER;
	if (subscribed)
		observe(NULL);
	subscribed = 0;
	callback = NULL;
	return SUCCESS;
}

static int preloaded_by_name(void)
{
	static int known = -1;
	if (known < 0) {
		const char *v = getenv("LD_PRELOAD");
		known = v && strstr(v, "libmspti.so") != NULL;
	}
	return known;
}

API int msptiEnableDomain(uint32_t enable, void *handle, uint32_t domain)
{
	ENTRY(domain);
	if (quirk.need_preload && !preloaded_by_name())
		return WITHOUT_LD_PRELOAD;
	if (handle == &the_handle && subscribed && domain < 3)
		domains[domain] = enable != 0;
	return SUCCESS; /* without effect before a subscription */
}

API int msptiEnableCallback(uint32_t enable, void *handle, uint32_t domain, uint32_t cbid)
{
	(void)cbid;
	return msptiEnableDomain(enable, handle, domain);
}

API int msptiActivityRegisterCallbacks(request_fn r, complete_fn c)
{
	ENTRY(-1);
	if (!r || !c)
		return INVALID_PARAMETER;
	set_callbacks(r, c);
	registered = 1;
	return SUCCESS;
}

API int msptiActivityEnable(uint32_t kind)
{
	ENTRY(kind);
	if (kind == 0 || kind >= N_KINDS || kind > quirk.max_kind)
		return INVALID_PARAMETER;
	if (kind >= HCCL && kind <= MEMCPY && quirk.need_preload && !preloaded_by_name())
		return WITHOUT_LD_PRELOAD;
	__atomic_store_n(&on[kind], 1, __ATOMIC_RELEASE);
	return SUCCESS;
}

API int msptiActivityDisable(uint32_t kind)
{
	ENTRY(kind);
	if (kind == 0 || kind >= N_KINDS || kind > quirk.max_kind)
		return INVALID_PARAMETER;
	if (enabled(kind) && (kind == KERNEL || kind == HCCL || kind == COMMUNICATION))
		device_drain(kind);
	__atomic_store_n(&on[kind], 0, __ATOMIC_RELEASE);
	return SUCCESS;
}

API _Bool msptiActivityIsEnabled(uint32_t kind) { return enabled(kind) != 0; }

API int msptiActivityFlushAll(uint32_t flag)
{
	ENTRY(flag);
	flush_buffers();
	return SUCCESS;
}

API int msptiActivityFlushPeriod(uint32_t ms)
{
	ENTRY(ms);
	return SUCCESS;
}

API int msptiActivityEnableMarkerDomain(const char *name)
{
	ENTRY(-1);
	return name ? SUCCESS : INVALID_PARAMETER;
}

API int msptiActivityDisableMarkerDomain(const char *name)
{
	ENTRY(-1);
	return name ? SUCCESS : INVALID_PARAMETER;
}

/* Internals of the libcudart look-alike. */
#ifndef FAKEGPU_CUDART_H
#define FAKEGPU_CUDART_H

#include "../cbid.h"
#include "../driver.h"
#include "../env.h"
#include "../fakegpu.h"

#define API FG_EXPORT

/* rt_ready initialises the driver once and gives the thread a current context:
 * 0 or the error to return. Its driver calls are direct ones. */
int rt_ready(void);
int rt_keep_error(int e);
int rt_device(void);
void *rt_context(int device);
void *rt_function(const void *host);

#define BEGIN(cb)                                                  \
	struct fg_api a_;                                          \
	do {                                                       \
		int r_ = rt_ready();                               \
		if (r_)                                            \
			return rt_keep_error(r_);                  \
		int e_ = fg_enter(&a_, FG_RUNTIME, cb);            \
		if (e_)                                            \
			return rt_keep_error(fg_leave(&a_, e_));   \
	} while (0)
#define END(result) return rt_keep_error(fg_leave(&a_, (result)))

#endif

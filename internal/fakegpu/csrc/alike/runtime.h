/* A vendor's runtime that looks like CUDA's, as far as the workload uses it. The
 * prefix of its functions is the vendor's: musa, mc, cuda (PPU) or hip. */
#ifndef FAKEALIKE_RUNTIME_H
#define FAKEALIKE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifndef RT_PREFIX
#define RT_PREFIX musa
#endif
#define RT_JOIN2(a, b) a##b
#define RT_JOIN(a, b) RT_JOIN2(a, b)
#define RT(name) RT_JOIN(RT_PREFIX, name)

struct dim3 { uint32_t x, y, z; };

int RT(Malloc)(void **p, size_t bytes);
int RT(Free)(void *p);
int RT(GetDevice)(int *device);
int RT(GetDeviceCount)(int *n);
int RT(SetDevice)(int device);
int RT(StreamCreate)(void **stream);
int RT(StreamSynchronize)(void *stream);
int RT(DeviceSynchronize)(void);
int RT(MemcpyAsync)(void *dst, const void *src, size_t bytes, int kind, void *stream);
int RT(MemsetAsync)(void *dst, int value, size_t bytes, void *stream);
int RT(LaunchKernel)(const char *symbol, struct dim3 grid, struct dim3 block, void **args, size_t shared, void *stream);
int RT(StreamBeginCapture)(void *stream, int mode);
int RT(StreamEndCapture)(void *stream, void **graph);
int RT(GraphInstantiate)(void **exec, void *graph, uint64_t flags);
int RT(GraphLaunch)(void *exec, void *stream);
/* A graph that was not captured: its kernels have no names. */
void *fakert_graph(int kernels);

/* Directions of copies, as CUDA's runtime numbers them. */
enum { RT_H2D = 1, RT_D2H = 2, RT_D2D = 3 };

/* What the profiling library is told. */
enum rt_op { OP_MALLOC, OP_FREE, OP_GET_DEVICE, OP_STREAM_SYNC, OP_DEVICE_SYNC, OP_MEMCPY_ASYNC, OP_MEMSET_ASYNC, OP_LAUNCH, OP_GRAPH, OP_BEGIN_CAPTURE, OP_END_CAPTURE, OPS };

/* Work of the device; times are CLOCK_MONOTONIC ns. */
struct rt_work {
	enum rt_op op;
	uint64_t start, end, bytes;
	uint32_t device, stream, copy;
	const char *name; /* of a kernel; NULL out of a graph */
	struct dim3 grid, block;
	uint32_t shared;
};

struct rt_observer {
	/* A call begins on the calling thread: gives its correlation id. Of a launch the
	 * work is told here, without times, and of a wait for a stream the stream. */
	uint64_t (*enter)(enum rt_op op, const struct rt_work *w);
	void (*work)(uint64_t correlation, const struct rt_work *w);
	void (*leave)(enum rt_op op, uint64_t correlation, uint64_t start, uint64_t end);
};

/* NULL ends it. */
void fakert_observe(const struct rt_observer *o);

#endif

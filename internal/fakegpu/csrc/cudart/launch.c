/* Launches, streams, events and graphs of the runtime API. */
#include "cudart.h"

struct dim3 { unsigned x, y, z; };

static int launch(const void *host, struct dim3 g, struct dim3 b, size_t shared, void *stream)
{
	void *f = rt_function(host);
	if (!f)
		return 98; /* cudaErrorInvalidDeviceFunction */
	int e = cuLaunchKernel(f, g.x, g.y, g.z, b.x, b.y, b.z, (unsigned)shared, stream, NULL, NULL);
	return e == 1 ? 9 : e; /* cudaErrorInvalidConfiguration */
}

API int cudaLaunchKernel(const void *func, struct dim3 grid, struct dim3 block, void **args, size_t shared, void *stream)
{
	(void)args;
	BEGIN(R_cudaLaunchKernel);
	END(launch(func, grid, block, shared, stream));
}

struct launch_config {
	struct dim3 grid, block;
	size_t shared;
	void *stream;
	void *attributes;
	unsigned n_attributes;
};

API int cudaLaunchKernelExC(const struct launch_config *c, const void *func, void **args)
{
	(void)args;
	BEGIN(R_cudaLaunchKernelExC);
	END(launch(func, c->grid, c->block, c->shared, c->stream));
}

API int cudaStreamCreate(void **stream)
{
	BEGIN(R_cudaStreamCreate);
	END(cuStreamCreateWithPriority(stream, 0, 0));
}

API int cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
	BEGIN(R_cudaStreamCreateWithPriority);
	END(cuStreamCreateWithPriority(stream, flags, priority));
}

API int cudaStreamDestroy(void *stream)
{
	BEGIN(R_cudaStreamDestroy);
	END(cuStreamDestroy_v2(stream));
}

API int cudaStreamSynchronize(void *stream)
{
	BEGIN(R_cudaStreamSynchronize);
	END(cuStreamSynchronize(stream));
}

API int cudaStreamQuery(void *stream)
{
	BEGIN(R_cudaStreamQuery);
	END(cuStreamQuery(stream));
}

API int cudaStreamWaitEvent(void *stream, void *event, unsigned flags)
{
	BEGIN(R_cudaStreamWaitEvent);
	END(cuStreamWaitEvent(stream, event, flags));
}

API int cudaEventCreateWithFlags(void **event, unsigned flags)
{
	BEGIN(R_cudaEventCreateWithFlags);
	END(cuEventCreate(event, flags));
}

API int cudaEventDestroy(void *event)
{
	BEGIN(R_cudaEventDestroy);
	END(cuEventDestroy_v2(event));
}

API int cudaEventRecord(void *event, void *stream)
{
	BEGIN(R_cudaEventRecord);
	END(cuEventRecord(event, stream));
}

API int cudaEventSynchronize(void *event)
{
	BEGIN(R_cudaEventSynchronize);
	END(cuEventSynchronize(event));
}

API int cudaEventQuery(void *event)
{
	BEGIN(R_cudaEventQuery);
	END(cuEventQuery(event));
}

API int cudaStreamBeginCapture(void *stream, int mode)
{
	BEGIN(R_cudaStreamBeginCapture);
	END(cuStreamBeginCapture_v2(stream, mode));
}

API int cudaStreamIsCapturing(void *stream, int *status)
{
	BEGIN(R_cudaStreamIsCapturing);
	END(cuStreamIsCapturing(stream, status));
}

API int cudaStreamEndCapture(void *stream, void **graph)
{
	BEGIN(R_cudaStreamEndCapture);
	END(cuStreamEndCapture(stream, graph));
}

API int cudaGraphInstantiate(void **exec, void *graph, uint64_t flags)
{
	BEGIN(R_cudaGraphInstantiate);
	END(cuGraphInstantiateWithFlags(exec, graph, flags));
}

API int cudaGraphLaunch(void *exec, void *stream)
{
	BEGIN(R_cudaGraphLaunch);
	END(cuGraphLaunch(exec, stream));
}

API int cudaGraphExecDestroy(void *exec)
{
	BEGIN(R_cudaGraphExecDestroy);
	END(cuGraphExecDestroy(exec));
}

API int cudaGraphDestroy(void *graph)
{
	BEGIN(R_cudaGraphDestroy);
	END(cuGraphDestroy(graph));
}

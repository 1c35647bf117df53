/* A round of work, for the workload and for tests that are in the process themselves. */
#include <stdlib.h>

#include "runtime.h"

static const char *const kernels[] = {"_ZN2at6native18elementwise_kernelILi128ELi4EEEvi", "_ZN9lookalike4gemmIfEEvPKT_S2_PS1_i",
	"_ZN9lookalike7softmaxIfEEvPT_i", "reduce_lookalike"};

/* What a round does: launches, those of a graph, copies, fills, and other calls. */
enum { GRAPH_KERNELS = 2 };

__attribute__((visibility("default"))) int fakert_round(int launches, void *stream)
{
	enum { BYTES = 1 << 20 };
	static char host[BYTES];
	void *p;
	int device;
	if (RT(Malloc)(&p, BYTES))
		return 1;
	RT(GetDevice)(&device);
	RT(MemcpyAsync)(p, host, BYTES, RT_H2D, stream);
	RT(MemsetAsync)(p, 0, BYTES / 4, stream);
	for (int i = 0; i < launches; i++)
		RT(LaunchKernel)(kernels[i % 4], (struct dim3){8 + (uint32_t)i % 5, 2, 1}, (struct dim3){i % 4 == 3 ? 128 : 64, 2, 1}, NULL, 1024, stream);
	RT(MemcpyAsync)(host, p, 4, RT_D2H, stream);
	void *graph = fakert_graph(GRAPH_KERNELS);
	RT(GraphLaunch)(graph, stream);
	free(graph);
	RT(StreamSynchronize)(stream);
	return RT(Free)(p);
}

/* What libtilewright_cuda.so gives libtilewright (runtime/backend.c). */
#include "runtime/cuda/gpu.h"

static const Backend backend_cuda = {
	.name = "cuda",
	.fit = gpu_fit,
	.load = gpu_load,
	.unload = gpu_unload,
	.hold = gpu_hold,
	.drop = gpu_drop,
	.trouble = gpu_trouble,
	.reach = gpu_reach,
	.open = gpu_open,
	.close = gpu_close,
	.reserve = gpu_reserve,
	.copy = gpu_copy,
	.launch = gpu_launch,
	.call = gpu_call,
	.enter = gpu_enter,
	.leave = cuda_leave,
	.fork = gpu_fork,
	.join = gpu_join,
	.meet = gpu_meet,
	.mark = gpu_mark,
	.wait = gpu_wait,
	.record = gpu_record,
	.capture = gpu_capture,
	.replay = gpu_replay,
	.forget = gpu_forget,
};

BackendEntry tw_backend_cuda;

const Backend *
tw_backend_cuda(int abi)
{
	return abi == BACKEND_ABI ? &backend_cuda : NULL;
}

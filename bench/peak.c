/* What one core of this machine can do (driver/measure/peak.h).
 *
 * usage: build/bench-peak      prints GB/s of adding two large arrays, then GFLOP/s of fused
 *                              multiply-adds in registers, and of dot products of bf16 (0: none)
 */
#include <stdio.h>

#include "driver/measure/peak.h"
#include "target/target.h"

int
main(void)
{
	const Device *device = device_native();
	printf("%.2f GB/s\n%.1f GFLOP/s\n%.1f GFLOP/s of bf16\n", peak_bandwidth(),
	       peak_gflops(device ? device->vector_bytes : 16), peak_bf16_gflops());
	return 0;
}

/* Tiles: padding, reuse, fused axes, epsilon, and that every program fits its device.
 */
#include <math.h>
#include <string.h>

#include "roller_rig.h"

static const char *const DEVICES[] = {"cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:x86-64-v4-dot",
                                      "cpu:aarch64",   "cuda:v100",     "cuda:a100",
                                      "cuda:h100",     "cuda:h200"};

START_TEST(padding)
{
	static const int64_t ROWS[][5] = {
		/* row, part, banks, lane, padding */
		{4, 1, 4, 1, 1},   {32, 1, 32, 1, 1},  {33, 1, 32, 1, 0},     {64, 4, 32, 1, 4},
		{64, 1, 32, 2, 2}, {8, 1, 32, 1, 1},   {1024, 1, 64, 16, 16}, {96, 3, 32, 1, 3},
		{31, 1, 32, 1, 0}, {128, 8, 32, 1, 8}, {40, 8, 32, 1, 0},
	};
	for (size_t i = 0; i < countof(ROWS); i++)
		ck_assert_msg(bank_padding(ROWS[i][0], ROWS[i][1], ROWS[i][2], ROWS[i][3]) == ROWS[i][4],
		              "row %d: rows of %lld are padded by %lld", (int)i, (long long)ROWS[i][0],
		              (long long)bank_padding(ROWS[i][0], ROWS[i][1], ROWS[i][2], ROWS[i][3]));
}
END_TEST

/* Rows begin in different banks, as far as there are: with the published rule they do, too. */
START_TEST(padded_rows)
{
	enum { BANKS = 32 };
	for (int64_t row = 1; row <= 300; row++)
		for (int64_t part = 1; part <= 8; part *= 2) {
			int64_t stride = row + bank_padding(row, part, BANKS, 1);
			bool is_taken[BANKS] = {false};
			for (int r = 0; r < BANKS / part; r++)
				for (int i = 0; i < part; i++) {
					int64_t bank = (r * stride + i) % BANKS;
					ck_element_msg(!is_taken[bank], "rows of %d, parts of %d: bank %d twice",
					               (int)row, (int)part, (int)bank);
					is_taken[bank] = true;
				}
		}
}
END_TEST

static TileProgram
with_tile(int level, int count, const int64_t *tile)
{
	TileProgram program;
	memset(&program, 0, sizeof program);
	memcpy(program.tile[level], tile, (size_t)count * sizeof *tile);
	return program;
}

/* Of a product: S_m = N*M*K / (k*m*m'), S_n likewise, S_k = 0. */
START_TEST(reuse_of_products)
{
	enum { M = 4096, N = 1024, K = 2048 };
	const TileTask *task = matmul_task(M, N, K, "cuda:v100");
	static const int64_t tiles[][3] = {{64, 64, 8}, {128, 32, 16}, {8, 256, 32}};
	for (size_t i = 0; i < countof(tiles); i++) {
		const int64_t *t = tiles[i];
		TileProgram program = with_tile(1, 3, t);
		double k = (double)t[2], all = (double)M * N * K;
		double m = tile_reuse(task, &program, 1, 0, 2 * t[0]);
		double n = tile_reuse(task, &program, 1, 1, 2 * t[1]);
		ck_assert_double_eq_tol(m, all / (k * (double)t[0] * 2 * (double)t[0]), 1e-6 * m);
		ck_assert_double_eq_tol(n, all / (k * (double)t[1] * 2 * (double)t[1]), 1e-6 * n);
		ck_assert(tile_reuse(task, &program, 1, 2, 2 * t[2]) == 0);
		double expected = (double)M * N * K * (1.0 / (double)t[0] + 1.0 / (double)t[1]);
		double traffic = (double)tile_count(task, t, task->extents) * tile_input_bytes(task, t) / 4;
		ck_assert_double_eq_tol(traffic, expected, 1e-6 * expected);
	}
}
END_TEST

/* Of a depthwise convolution in two dims, by the windows of all tiles one after the other. */
START_TEST(reuse_of_windows)
{
	enum { C = 6, SIDE = 24, WINDOW = 3, STRIDE = 2 };
	const TileTask *task =
		task_of(depthwise_text(arena, 1, C, SIDE, WINDOW, STRIDE, SAME), "cuda:v100");
	ck_assert_int_eq(task->naxis, 5); /* c, p, q and r, s */
	int out = SIDE / STRIDE;
	for (int h = 1; h <= out; h *= 2)
		for (int w = 1; w <= out; w += 3) {
			double traffic[2], room[2];
			for (int next = 0; next < 2; next++) {
				int height = h << next;
				double tiles = 0, places = 0;
				for (int c = 0; c < C; c += 2)
					for (int p = 0; p < out; p += height)
						for (int q = 0; q < out; q += w) {
							int halo =
								((height - 1) * STRIDE + WINDOW) * ((w - 1) * STRIDE + WINDOW);
							places = 2 * halo + 2 * WINDOW * WINDOW;
							tiles += places + 2 * height * w;
						}
				traffic[next] = tiles;
				room[next] = places;
			}
			TileProgram program = with_tile(1, 5, (int64_t[]){2, h, w, WINDOW, WINDOW});
			if (h * 2 > out)
				continue;
			double score = tile_reuse(task, &program, 1, 1, 2 * h);
			double expected = (traffic[0] - traffic[1]) / (room[1] - room[0]);
			ck_assert_double_eq_tol(score, expected, 1e-6 * fabs(expected) + 1e-9);
		}
}
END_TEST

/* Nothing is read twice: no axis has a score. */
START_TEST(no_reuse)
{
	static const char *const devices[] = {"cuda:v100", "cuda:h100"};
	for (size_t i = 0; i < countof(devices); i++) {
		const TileTask *relu = task_of(relu_text(arena, 1 << 20), devices[i]);
		const TileTask *sum = task_of(reduce_text(arena, 4096, 1024), devices[i]);
		TileProgram program = with_tile(1, 2, (int64_t[]){64, 8});
		ck_assert_int_eq(relu->naxis, 1);
		ck_assert(tile_reuse(relu, &program, 1, 0, 128) == 0);
		ck_assert(tile_reuse(sum, &program, 1, 0, 128) == 0);
		ck_assert(tile_reuse(sum, &program, 1, 1, 16) == 0);
	}
}
END_TEST

static const char *
axes_of(const TileTask *task)
{
	Buf out = {.arena = arena};
	for (int a = 0; a < task->naxis; a++)
		buf_printf(&out, "%s%s%lld", a ? " " : "", task->axes[a].kind == AXIS_term ? "+" : "",
		           (long long)task->extents[a]);
	return buf_text(&out);
}

START_TEST(fused_axes)
{
	/* a convolution is a product of [n.p.q, c.r.s] and [f, c.r.s] where tiles are copies */
	const char *conv = conv_text(arena, 8, 16, 10, 32, 3, 1, SAME);
	const char *point = conv_text(arena, 8, 16, 10, 32, 1, 1, SAME);
	const char *deep = depthwise_text(arena, 8, 16, 10, 3, 1, SAME);
	ck_assert_str_eq(axes_of(task_of(conv, "cuda:v100")), "800 32 +144");
	ck_assert_str_eq(axes_of(task_of(conv, "cpu:x86-64-v4")), "8 32 10 10 +16 +3 +3");
	ck_assert_str_eq(axes_of(task_of(point, "cpu:x86-64-v4")), "8 32 100 +16");
	/* in a depthwise one all loops are the image's: it stays */
	ck_assert_str_eq(axes_of(task_of(deep, "cuda:v100")), "8 16 10 10 +3 +3");
	ck_assert_str_eq(axes_of(task_of("expr relu(X: f32[17,11,3]) -> Y {\n"
	                                 "  Y[i:17, j:11, k:3]: f32 = max(X[i,j,k], 0.0)\n}\n",
	                                 "cuda:v100")),
	                 "561");
	ck_assert_str_eq(axes_of(task_of("expr mm(A: f32[6,9,8], B: f32[6,8,7]) -> Y {\n"
	                                 "  Y[b:6, m:9, n:7]: f32 = sum(k:8) A[b,m,k] * B[b,k,n]\n}\n",
	                                 "cuda:v100")),
	                 "6 9 7 +8");
	/* four stages of a group have their rows in common */
	const TileTask *softmax =
		task_of("expr softmax(X: f32[64,100]) -> Y {\n  m[n:64]: f32 = max(c:100) X[n,c]\n"
	            "  e[n:64, c:100]: f32 = exp(X[n,c] - m[n])\n  s[n:64]: f32 = sum(c:100) e[n,c]\n"
	            "  Y[n:64, c:100]: f32 = e[n,c] / s[n]\n}\n",
	            "cuda:v100");
	ck_assert_str_eq(axes_of(softmax), "64 100");
	ck_assert_int_eq(softmax->axes[1].kind, AXIS_inner);
}
END_TEST

/* What is added to a sum and cut off needs no registers besides, nor room for its sum. */
START_TEST(stages_of_groups)
{
	static const char *const devices[] = {"cuda:v100", "cpu:x86-64-v3"};
	const char *text = "expr mm(A: f32[512,256], B: f32[256,1024], C: f32[1024]) -> Y {\n"
					   "  S[m:512, n:1024]: f32 = sum(k:256) A[m,k] * B[k,n]\n"
					   "  Y[m:512, n:1024]: f32 = max(S[m,n] + C[n], 0.0)\n}\n";
	for (size_t i = 0; i < countof(devices); i++) {
		const TileTask *plain = matmul_task(512, 1024, 256, devices[i]);
		const TileTask *group = task_of(text, devices[i]);
		TileProgram program = {.tile = {{8, 16, 1}, {64, 64, 32}}};
		ck_assert_str_eq(axes_of(group), "512 1024 +256");
		ck_assert_int_eq(group->lane, plain->lane);
		ck_assert_int_eq(program_registers(group, &program), program_registers(plain, &program));
		int64_t more =
			program_footprint(group, &program, 1) - program_footprint(plain, &program, 1);
		ck_assert_int_eq(more, 64 * 4); /* of C */
	}
}
END_TEST

START_TEST(wasted_shares)
{
	ck_assert(is_aligned_to_shape(1000, 64, 0.024));
	ck_assert(!is_aligned_to_shape(1000, 64, 0.023));
	ck_assert(is_aligned_to_shape(1000, 125, 0)); /* nothing is wasted where it divides */
	ck_assert(!is_aligned_to_shape(7, 4, 0.1));
	ck_assert(is_aligned_to_shape(7, 4, 0.15));
	ck_assert(is_aligned_to_shape(7, 8, 0)); /* one tile for all of it */
}
END_TEST

/* ---- every program fits ---------------------------------------------------------------------- */

static void
check_threads(const TileTask *task, const TileProgram *p, const char *name)
{
	const Device *device = task->device;
	int64_t threads = tile_count(task, p->tile[0], p->tile[1]) * task->unit_threads * p->sharers;
	int64_t registers = program_registers(task, p) + TILE_REGISTERS;
	ck_assert_msg(threads == p->threads, "%s: %lld threads, said to be %lld", name,
	              (long long)threads, (long long)p->threads);
	ck_assert_msg(threads <= device->threads, "%s: %lld threads", name, (long long)threads);
	ck_assert_msg(registers <= device->registers, "%s: %lld registers", name, (long long)registers);
	ck_assert_msg(registers * threads <= device->gpu->registers, "%s: %lld registers in a block",
	              name, (long long)(registers * threads));
	ck_assert_msg(program_footprint(task, p, 1) * p->stages <= device->levels[1].bytes,
	              "%s: %lld bytes", name, (long long)program_footprint(task, p, 1) * p->stages);
}

static void
check_program(const TileTask *task, const TileProgram *p, const char *name)
{
	const Device *device = task->device;
	ck_assert(p->seconds > 0 && isfinite(p->seconds) && p->reason && p->pieces >= 1 && p->cut >= 1);
	for (int a = 0; a < task->naxis; a++)
		for (int l = 0; l < task->nlevel; l++) {
			int64_t extent = task->extents[a], unit = task->unit[a];
			int64_t above = l > 0 ? p->tile[l - 1][a] : 1, most = extent > unit ? extent : unit;
			ck_assert_msg(p->tile[l][a] >= above && p->tile[l][a] < 2 * most + 32,
			              "%s: level %d has %lld of %lld", name, l, (long long)p->tile[l][a],
			              (long long)extent);
		}
	if (device->threads > 1) {
		check_threads(task, p, name);
		return;
	}
	ck_assert_msg(program_registers(task, p) <= device->registers, "%s: %lld registers", name,
	              (long long)program_registers(task, p));
	for (int l = 1; l < task->nlevel; l++)
		ck_assert_msg(program_footprint(task, p, l) <= device->levels[l].bytes, "%s: %s overflows",
		              name, device->levels[l].name);
}

/* Milliseconds of the best; how many tiles were looked at. */
static double
check_all(const char *text, const char *device, const char *name, int *looked_at)
{
	Arena *all = arena;
	int visited = 0;
	arena = arena_new_in(all, "case");
	const TileTask *task = task_of(text, device);
	TilePrograms found = roller_tiles(task, 10, &visited);
	ck_assert_msg(found.count > 0, "%s on %s: nothing", name, device);
	for (int i = 0; i < found.count; i++) {
		check_program(task, &found.data[i], name);
		ck_assert(i == 0 || found.data[i - 1].seconds <= found.data[i].seconds);
	}
	double best = found.data[0].seconds * 1e3;
	arena_free(arena);
	arena = all;
	*looked_at = visited;
	return best;
}

/* Primes, sums shorter than a transaction, single rows, fewer tiles than units. */
START_TEST(awkward_sizes)
{
	int visited;
	static const int SIZES[][3] = {{1, 1, 1},        {1, 1000, 4096}, {4096, 1, 4096},
	                               {1, 1, 100000},   {127, 131, 137}, {1009, 1013, 3},
	                               {65536, 1024, 2}, {8, 8, 65536},   {2, 3, 5},
	                               {64, 64, 64},     {13, 4096, 17}};
	for (size_t d = 0; d < countof(DEVICES); d++)
		for (size_t i = 0; i < countof(SIZES); i++)
			check_all(matmul_text(arena, SIZES[i][0], SIZES[i][1], SIZES[i][2]), DEVICES[d],
			          arena_printf(arena, "%dx%dx%d", SIZES[i][0], SIZES[i][1], SIZES[i][2]),
			          &visited);
}
END_TEST

/* Few pieces: smaller ones, or sums in parts, for all units of the device. */
START_TEST(few_pieces)
{
	int visited;
	const TileTask *task = matmul_task(32, 32, 65536, "cuda:v100");
	TilePrograms found = roller_tiles(task, 10, &visited);
	ck_assert(found.count > 0);
	ck_assert_int_ge(found.data[0].pieces, task->device->units / 2);
	ck_assert_int_gt(found.data[0].cut, 1);
}
END_TEST

/* What stands behind a sum is not read in each of its steps. */
START_TEST(maps_behind)
{
	static const char plain[] = "expr f(A: f32[197,768], B: f32[768,3072]) -> S {\n"
								" S[m:197, n:3072]: f32 = sum(k:768) A[m,k] * B[k,n]\n}\n";
	static const char more[] = "expr f(A: f32[197,768], B: f32[768,3072], C: f32[3072]) -> Y {\n"
							   " S[m:197, n:3072]: f32 = sum(k:768) A[m,k] * B[k,n]\n"
							   " Y[m:197, n:3072]: f32 = max(S[m,n] + C[n], 0)\n}\n";
	int visited;
	double seconds = roller_tiles(task_of(plain, "cuda:h100"), 1, &visited).data[0].seconds;
	ck_assert_double_lt(roller_tiles(task_of(more, "cuda:h100"), 1, &visited).data[0].seconds,
	                    1.1 * seconds);
}
END_TEST

/* A tile whose steps are short waits for each of them: longer ones, or others beside it. */
START_TEST(chains)
{
	const TileTask *task = matmul_task(49, 512, 4608, "cuda:h100");
	TileProgram program = {
		.tile = {{1, 2, 1}, {16, 16, 8}}, .cut = 1, .sharers = 1, .threads = 128};
	double latency = task->device->gpu->latency, whole = predict_seconds(task, &program);
	ck_assert_double_gt(whole, 576 * latency);
	ck_assert_str_eq(program.reason, "latency");
	program.cut = 8;
	ck_assert_double_lt(predict_seconds(task, &program), whole / 3);
}
END_TEST

static const char *
narrow_product(const char *type)
{
	return arena_printf(arena,
	                    "expr mm(A: %s[512,256], B: %s[256,1024], C: f32[1024]) -> Y {\n"
	                    "  S[m:512, n:1024]: f32 = sum(k:256) f32(A[m,k]) * f32(B[k,n])\n"
	                    "  Y[m:512, n:1024]: f32 = S[m,n] + C[n]\n}\n",
	                    type, type);
}

/* Products of narrow numbers come in units of the device's instructions. */
START_TEST(units_of_products)
{
	static const struct {
		const char *device, *type;
		int m, n, k;
	} UNITS[] = {{"cuda:v100", "f16", 16, 16, 16},      {"cuda:v100", "bf16", 1, 1, 1},
	             {"cuda:a100", "f16", 16, 8, 16},       {"cuda:a100", "bf16", 16, 8, 16},
	             {"cuda:a100", "i8", 16, 8, 32},        {"cuda:h100", "f16", 64, 8, 16},
	             {"cpu:x86-64-v4", "bf16", 1, 1, 1},    {"cpu:x86-64-v4-dot", "bf16", 1, 1, 2},
	             {"cpu:x86-64-v4-dot", "f16", 1, 1, 1}, {"cpu:x86-64-v4-dot", "i8", 1, 1, 4},
	             {"cuda:a100", "f32", 1, 1, 1}};
	for (size_t i = 0; i < countof(UNITS); i++) {
		const char *text = narrow_product(UNITS[i].type);
		int visited;
		const TileTask *task = task_of(text, UNITS[i].device);
		ck_assert_int_eq(task->unit[0], UNITS[i].m);
		ck_assert_int_eq(task->unit[1], UNITS[i].n);
		ck_assert_int_eq(task->unit[2], UNITS[i].k);
		TilePrograms found = roller_tiles(task, 10, &visited);
		for (int f = 0; f < found.count; f++)
			for (int a = 0; a < 3; a++)
				ck_assert_int_eq(found.data[f].tile[1][a] % task->unit[a], 0);
		check_all(text, UNITS[i].device, UNITS[i].type, &visited);
	}
}
END_TEST

START_TEST(refusals)
{
	const char *reason;
	ck_assert_ptr_null(try_task("expr s(X: f32[9]) -> Y {\n"
	                            "  Y[i:9]: f32 = scan i from 0: prev + X[i]\n}\n",
	                            "cuda:v100", &reason));
	ck_assert_str_eq(reason, "scatters and scans run in order");
}
END_TEST

/* Strides and sizes at the ends of 64 bits overflow nothing. */
START_TEST(far_indices)
{
	int visited;
	check_all("expr f(X: f32[4611686018427387904]) -> Y {\n"
	          "  Y[i:4, j:1000000]: f32 = sum(k:3) X[1152921504606846976*i + 1000000000000*j + k]\n"
	          "}\n",
	          "cuda:v100", "far", &visited);
	const char *reason;
	ck_assert_ptr_null(try_task("expr f(X: f32[9223372036854775807]) -> Y {\n"
	                            "  Y[i:9223372036854775807]: f32 = max(X[i], 0.0)\n}\n",
	                            "cpu:x86-64-v4", &reason));
	ck_assert_str_eq(reason, "an axis is longer than tiles are made for");
}
END_TEST

/* All 119 operators of Roller's evaluation: the work of each is bounded, and a V100's published
 * times are in the predicted order. */
START_TEST(all_operators)
{
	static const char *const devices[] = {"cpu:x86-64-v3", "cpu:x86-64-v4", "cuda:v100",
	                                      "cuda:a100", "cuda:h100"};
	RollerOp ops[ROLLER_OPS];
	int count = roller_ops(arena, ops);
	ck_assert_int_eq(count, ROLLER_OPS);
	double best[ROLLER_OPS], published[ROLLER_OPS];
	for (int i = 0; i < count; i++) {
		int visited;
		best[i] = check_all(ops[i].text, devices[_i], ops[i].id, &visited);
		published[i] = ops[i].best;
		ck_assert_msg(visited <= 9000, "%s: %d tiles", ops[i].id, visited);
	}
	if (strcmp(devices[_i], "cuda:v100") == 0)
		ck_assert_double_ge(rank_correlation(count, best, published), 0.9);
}
END_TEST

/* One axis longer than the step before, or the first of the next level; and it has room. */
static void
check_step(const TileTask *task, const TileSteps *steps, int index)
{
	const TileStep *step = &steps->data[index], *last = index > 0 ? step - 1 : NULL;
	const int64_t *tile = step->program.tile[step->level];
	if (step->axis < 0) {
		ck_assert_int_eq(step->level, last ? last->level + 1 : 0);
	} else {
		ck_assert_ptr_nonnull(last);
		for (int a = 0; a < task->naxis; a++)
			ck_assert(a == step->axis ? tile[a] > last->program.tile[step->level][a]
			                          : tile[a] == last->program.tile[step->level][a]);
		ck_assert(!isnan(step->score[step->axis]));
	}
	int64_t takes = step->level == 0 ? program_registers(task, &step->program)
	                                 : program_footprint(task, &step->program, step->level);
	ck_assert_int_le(takes, tile_room(task, step->level));
}

static int
check_steps(const TileTask *task, int policy_index)
{
	int visited = 0;
	TilePolicy policy = roller_policy(task, policy_index);
	TilePrograms found = construct_tiles(task, &policy, &visited);
	int checked = 0;
	for (int i = 0; i < found.count; i++) {
		double waste;
		bool fits = true; /* where nothing is found that does, there may be one that does not */
		for (int l = 0; l < task->nlevel; l++)
			fits &= policy.fits(&policy, task, &found.data[i], l);
		if (!fits)
			continue;
		checked++;
		TileSteps steps = tile_steps(task, &found.data[i], &waste);
		ck_assert_int_gt(steps.count, 0);
		ck_assert(waste <= policy.waste);
		for (int k = 0; k < steps.count; k++)
			check_step(task, &steps, k);
		const TileStep *last = &steps.data[steps.count - 1];
		ck_assert_int_eq(last->level, task->nlevel - 1);
		for (int l = 0; l < task->nlevel; l++)
			ck_assert_mem_eq(last->program.tile[l], found.data[i].tile[l],
			                 sizeof(int64_t) * (size_t)task->naxis);
	}
	return checked;
}

/* What is constructed has a way from the smallest tile; what is wider than it may be has none. */
START_TEST(steps_of_tiles)
{
	for (size_t d = 0; d < countof(DEVICES); d++) {
		const TileTask *product = matmul_task(4096, 1000, 2048, DEVICES[d]);
		const TileTask *window = task_of(depthwise_text(arena, 1, 64, 56, 3, 1, SAME), DEVICES[d]);
		ck_assert_int_gt(check_steps(product, 0) + check_steps(product, 1), 0);
		ck_assert_int_gt(check_steps(window, 1) + check_steps(window, 2), 0);
		int visited;
		double waste;
		TileProgram odd = roller_tiles(product, 1, &visited).data[0];
		odd.tile[0][0] = 3 * 1024 + 1;
		ck_assert_int_eq(tile_steps(product, &odd, &waste).count, 0);
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("roller tiles");
	arena = arena_new("test");
	tcase_add_test(t, padding);
	tcase_add_test(t, padded_rows);
	tcase_add_test(t, reuse_of_products);
	tcase_add_test(t, reuse_of_windows);
	tcase_add_test(t, no_reuse);
	tcase_add_test(t, fused_axes);
	tcase_add_test(t, stages_of_groups);
	tcase_add_test(t, wasted_shares);
	tcase_add_test(t, awkward_sizes);
	tcase_add_test(t, few_pieces);
	tcase_add_test(t, maps_behind);
	tcase_add_test(t, chains);
	tcase_add_test(t, units_of_products);
	tcase_add_test(t, refusals);
	tcase_add_test(t, far_indices);
	tcase_add_test(t, steps_of_tiles);
	tcase_add_loop_test(t, all_operators, 0, 5);
	return unit_run(t);
}

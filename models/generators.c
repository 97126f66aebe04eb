/* Networks that make images: the generators of DCGAN and InfoGAN, and FSRCNN; CSRNet's back end,
 * which makes a map of densities. Forms and sizes are those EinNet (OSDI '23) was measured on.
 */
#include "zoo.h"

/* ---- the generator of DCGAN (Radford et al., 2015), 64x64 images from 100 numbers ---- */

void
dcgan(Zoo *zoo)
{
	static const int64_t widths[] = {100, 512, 256, 128, 64, 3};
	Value *x = zoo_input(zoo, "input", DT_F32, 4, (int64_t[]){0, 100, 1, 1});
	for (int i = 0; i < 5; i++) {
		bool is_first = i == 0, is_last = i == 4;
		Conv conv = {widths[i], widths[i + 1], 4, is_first ? 1 : 2, is_first ? 0 : 1, 1, false};
		x = zoo_conv_transpose(zoo, zoo_text(zoo, "/main/main.%d", 3 * i),
		                       zoo_text(zoo, "main.%d", 3 * i), x, conv);
		if (is_last)
			break;
		x = zoo_batch_norm(zoo, zoo_text(zoo, "/main/main.%d", 3 * i + 1),
		                   zoo_text(zoo, "main.%d", 3 * i + 1), x, conv.out);
		x = zoo_unary(zoo, zoo_text(zoo, "/main/main.%d", 3 * i + 2), "Relu", x);
	}
	x = zoo_unary(zoo, "/main/main.13", "Tanh", x);
	zoo_outputs(zoo, 1, &x, (const char *[]){"output"});
}

/* ---- the generator of InfoGAN (Chen et al., 2016) without normalisations: 32x32 images ---- */

void
infogan(Zoo *zoo)
{
	static const int64_t widths[] = {228, 448, 256, 128, 64, 3};
	Value *x = zoo_input(zoo, "input", DT_F32, 4, (int64_t[]){0, 228, 1, 1});
	for (int i = 0; i < 5; i++) {
		Conv conv = {widths[i], widths[i + 1], 4, 2, 1, 1, false};
		if (i == 0)
			conv.kernel = 2, conv.stride = 1, conv.pad = 0;
		const char *path = zoo_text(zoo, "tconv%d", i + 1);
		x = zoo_conv_transpose(zoo, zoo_text(zoo, "/%s", path), path, x, conv);
		x = zoo_unary(zoo, "", i < 4 ? "Relu" : "Tanh", x);
	}
	zoo_outputs(zoo, 1, &x, (const char *[]){"output"});
}

/* ---- FSRCNN (Dong et al., 2016), enlarging by 4 ---- */

/* PReLU with one slope for all channels, which the exporter gives the rank of an image. */
static Value *
prelu(Zoo *zoo, const char *scope, const char *path, Value *x)
{
	Value *slope = zoo_weight(zoo, zoo_text(zoo, "%s.weight", path), 3, (int64_t[]){1, 1, 1});
	return zoo_binary(zoo, scope, "PRelu", x, slope);
}

void
fsrcnn(Zoo *zoo)
{
	/* part and place in its sequence, channels in and out, kernel; whether a PReLU follows */
	static const struct {
		const char *part;
		int index;
		int64_t in, out, kernel;
		bool has_prelu;
	} rows[] = {
		{"first_part", 0, 1, 56, 5, true}, {"mid_part", 0, 56, 12, 1, true},
		{"mid_part", 2, 12, 12, 3, false}, {"mid_part", 3, 12, 12, 3, false},
		{"mid_part", 4, 12, 12, 3, false}, {"mid_part", 5, 12, 12, 3, true},
		{"mid_part", 7, 12, 56, 1, true},
	};
	Value *x = zoo_input(zoo, "input", DT_F32, 4, (int64_t[]){0, 1, 32, 32});
	for (size_t i = 0; i < countof(rows); i++) {
		const char *part = rows[i].part, *path = zoo_text(zoo, "%s.%d", part, rows[i].index);
		Conv conv = {rows[i].in, rows[i].out, rows[i].kernel, 1, rows[i].kernel / 2, 1, true};
		x = zoo_conv(zoo, zoo_text(zoo, "/%s/%s", part, path), path, x, conv);
		if (!rows[i].has_prelu)
			continue;
		path = zoo_text(zoo, "%s.%d", part, rows[i].index + 1);
		x = prelu(zoo, zoo_text(zoo, "/%s/%s", part, path), path, x);
	}
	x = zoo_conv_transpose_window(zoo, "/last_part", "last_part", x,
	                              (Conv){56, 1, 9, 4, 3, 1, true},
	                              (Window){{9, 9}, {3, 3}, 4, 1, 1});
	zoo_outputs(zoo, 1, &x, (const char *[]){"output"});
}

/* ---- the back end of CSRNet (Li et al., 2018): 3x3 convolutions of dilation 2 ---- */

void
csrnet(Zoo *zoo)
{
	static const int64_t widths[] = {512, 512, 512, 512, 256, 128, 64};
	Value *x = zoo_input(zoo, "input", DT_F32, 4, (int64_t[]){0, 512, 14, 14});
	for (int i = 0; i < 6; i++) {
		const char *path = zoo_text(zoo, "backend.%d", 2 * i);
		x = zoo_conv_window(zoo, zoo_text(zoo, "/backend/%s", path), path, x,
		                    (Conv){widths[i], widths[i + 1], 3, 1, 2, 1, false},
		                    (Window){{3, 3}, {2, 2}, 1, 2, 0});
		x = zoo_unary(zoo, zoo_text(zoo, "/backend/backend.%d", 2 * i + 1), "Relu", x);
	}
	zoo_outputs(zoo, 1, &x, (const char *[]){"output"});
}

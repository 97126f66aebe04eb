/* What opset adapters make of old models, by its values.
 *
 *     {"Add", 6, "f32[2,2]{1,2,3,4} f32[2]{10,20}", "broadcast=1 axis=0", "f32[2,2]{11,12,23,24}"}
 *
 * Each row is a model of one node in the form of an old opset: what goes in, attributes, and what
 * must come out, computed by hand from ONNX's specification of that opset (floor and clamp of old
 * Resize, one row per leading index of old Softmax ...). The model is read, evaluated, written for
 * its own opset and for the dialect, read again from both, and evaluated again. An input that
 * begins with '=' is an initializer, "_" is absent.
 */
#include "unit.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "eval/eval.h"
#include "onnx/walk.h"
#include "onnx_fixture.h"

typedef struct Case {
	const char *op;
	int opset;
	const char *inputs, *attrs, *outputs;
	int written; /* for this opset, where its own cannot say it; 0: its own */
} Case;

/* ln of 1, 2, 3, 4: a Softmax of them has the shares 1 : 2 : 3 : 4 */
#define LOGS "{0,0.69314718,1.09861229,1.38629436}"
#define X23 "f32[2,3]{1,2,3,4,5,6}"
#define X22 "f32[2,2]{1,2,3,4}"
#define NORM " f32[2]{1,2} f32[2]{0,1} f32[2]{1,5} f32[2]{3,3}"

static const Case CASES[] = {
	/* until 6, the second input was placed at an axis of the first */
	{"Add", 6, X23 " f32[2]{10,20}", "broadcast=1 axis=0", "f32[2,3]{11,12,13,24,25,26}", 0},
	{"Sub", 6, X22 " f32[2]{10,20}", "broadcast=1 axis=0", "f32[2,2]{-9,-8,-17,-16}", 0},
	{"Sub", 6, X22 " f32[2]{10,20}", "broadcast=1 axis=1", "f32[2,2]{-9,-18,-7,-16}", 0},
	{"Sub", 6, X22 " f32[2]{10,20}", "broadcast=1", "f32[2,2]{-9,-18,-7,-16}", 0},
	{"Add", 6, X22 " f32[2,2]{10,20,30,40}", "", "f32[2,2]{11,22,33,44}", 0},
	{"Add", 6, X22 " f32[1]{10}", "broadcast=1", "f32[2,2]{11,12,13,14}", 0},
	{"Add", 6, X22 " f32[]{10}", "broadcast=1", "f32[2,2]{11,12,13,14}", 0},
	{"Add", 6, "f32[1,2,2,1]{1,2,3,4} f32[2]{10,20}", "broadcast=1 axis=1",
     "f32[1,2,2,1]{11,12,23,24}", 0},
	{"Add", 6, "f32[1,2,2]{1,2,3,4} f32[1,2]{10,20}", "broadcast=1 axis=0",
     "f32[1,2,2]{11,12,23,24}", 0},
	{"Mul", 6, X23 " f32[2]{10,20}", "broadcast=1 axis=0", "f32[2,3]{10,20,30,80,100,120}", 0},
	{"Div", 6, X23 " f32[2]{2,4}", "broadcast=1 axis=0", "f32[2,3]{0.5,1,1.5,1,1.25,1.5}", 0},
	{"Pow", 6, X23 " f32[2]{2,3}", "broadcast=1 axis=0", "f32[2,3]{1,4,9,64,125,216}", 0},
	{"And", 6, "bool[2,3]{1,1,0,1,0,1} bool[2]{1,0}", "broadcast=1 axis=0",
     "bool[2,3]{1,1,0,0,0,0}", 0},
	{"Or", 6, "bool[2,3]{1,1,0,1,0,1} bool[2]{1,0}", "broadcast=1 axis=0", "bool[2,3]{1,1,1,1,0,1}",
     0},
	{"Xor", 6, "bool[2,3]{1,1,0,1,0,1} bool[2]{1,0}", "broadcast=1 axis=0",
     "bool[2,3]{0,0,1,1,0,1}", 0},
	{"Greater", 6, X23 " f32[2]{2,5}", "broadcast=1 axis=0", "bool[2,3]{0,0,1,0,0,1}", 0},
	{"Less", 6, X23 " f32[2]{2,5}", "broadcast=1 axis=0", "bool[2,3]{1,0,0,1,0,0}", 0},
	{"Equal", 6, "i32[2,3]{1,2,3,4,5,6} i32[2]{2,5}", "broadcast=1 axis=0",
     "bool[2,3]{0,1,0,0,1,0}", 0},
	{"PRelu", 6, "f32[1,2,2]{-1,2,-3,-4} f32[2]{10,100}", "", "f32[1,2,2]{-10,2,-300,-400}", 0},
	{"PRelu", 6, "f32[2,2]{-1,-2,-3,4} f32[2]{10,100}", "", "f32[2,2]{-10,-200,-30,4}", 0},
	{"PRelu", 6, "f32[1,2,2]{-1,2,-3,-4} f32[1]{10}", "", "f32[1,2,2]{-10,2,-30,-40}", 0},
	{"Gemm", 6, X22 " f32[2,2]{1,0,0,1} f32[2]{10,20}", "broadcast=1", "f32[2,2]{11,22,13,24}", 0},
	{"Gemm", 6, "f32[1,2]{1,2} " X22 " f32[1,2]{10,20}", "alpha=2.0 beta=0.5 transB=1",
     "f32[1,2]{15,32}", 0},
	{"Gemm", 6, "f32[2,1]{1,2} " X22 " f32[1]{10}", "transA=1 broadcast=1", "f32[1,2]{17,20}", 0},
	{"Gemm", 10, X22 " f32[2,2]{1,0,0,1} f32[2]{10,20}", "", "f32[2,2]{11,22,13,24}", 0},

	/* attributes that went away */
	{"BatchNormalization", 6, "f32[1,2,2]{1,3,5,9}" NORM, "is_test=1 epsilon=1.0",
     "f32[1,2,2]{0,1,1,5}", 0},
	{"BatchNormalization", 8, "f32[1,2,2]{1,3,5,9}" NORM, "spatial=1 epsilon=1.0",
     "f32[1,2,2]{0,1,1,5}", 0},
	{"BatchNormalization", 13, "f32[1,2,2]{1,3,5,9}" NORM, "epsilon=1.0", "f32[1,2,2]{0,1,1,5}", 0},
	{"BatchNormalization", 9, "f32[1,1,2]{1,3} f32[1]{2} f32[1]{1} f32[1]{10} f32[1]{5}",
     "epsilon=3.0 momentum=0.5", "f32[1,1,2]{0,2} f32[1]{6} f32[1]{3}", 0},
	{"BatchNormalization", 5, "f32[1,2,2]{1,3,5,9}" NORM,
     "is_test=1 epsilon=1.0 consumed_inputs=[0,0,0,1,1]", "f32[1,2,2]{0,1,1,5}", 6},
	{"Relu", 1, "f32[2]{-1,2}", "consumed_inputs=[0]", "f32[2]{0,2}", 0},
	{"Add", 1, X22 " f32[2]{10,20}", "broadcast=1 axis=0 consumed_inputs=[0,0]",
     "f32[2,2]{11,12,23,24}", 0},
	{"Dropout", 6, "f32[2]{1,2}", "is_test=1 ratio=0.75", "f32[2]{1,2}", 0},
	{"Dropout", 7, "f32[2]{1,2}", "ratio=0.75", "f32[2]{1,2} f32[2]{1,1}", 0},
	{"Dropout", 10, "f32[2]{1,2}", "ratio=0.75", "f32[2]{1,2} bool[2]{1,1}", 0},
	{"Concat", 3, "f32[1,1]{1} f32[1,2]{2,3}", "", "f32[1,3]{1,2,3}", 0},
	{"Concat", 3, "f32[1,1]{1} f32[2,1]{2,3}", "axis=0", "f32[3,1]{1,2,3}", 0},

	/* attributes that became inputs */
	{"Clip", 6, "f32[3]{-2,0,2}", "min=-1.0 max=0.5", "f32[3]{-1,0,0.5}", 0},
	{"Clip", 6, "f32[3]{-2,0,2}", "min=-1.0", "f32[3]{-1,0,2}", 0},
	{"Clip", 10, "f32[3]{-2,0,2}", "max=-1.0", "f32[3]{-2,-1,-1}", 0},
	{"Clip", 10, "f64[3]{-2,0,2}", "min=0.5", "f64[3]{0.5,0.5,2}", 0},
	{"Clip", 6, "f32[3]{-2,0,2}", "", "f32[3]{-2,0,2}", 0},
	{"Pad", 10, "f32[1,2]{1,2}", "pads=[0,1,0,2] value=9.0", "f32[1,5]{9,1,2,9,9}", 0},
	{"Pad", 2, "f32[1,3]{1,2,3}", "pads=[0,2,0,1] mode=reflect", "f32[1,6]{3,2,1,2,3,2}", 0},
	{"Pad", 10, "f32[1,3]{1,2,3}", "pads=[1,0,0,-1]", "f32[2,2]{0,0,1,2}", 0},
	{"Slice", 9, "f32[2,4]{0,1,2,3,4,5,6,7}", "starts=[1,-3] ends=[1000,3] axes=[0,1]",
     "f32[1,2]{5,6}", 0},
	{"Slice", 1, "f32[2,4]{0,1,2,3,4,5,6,7}", "starts=[0,1] ends=[1,3]", "f32[1,2]{1,2}", 0},
	{"Slice", 9, "f32[2,4]{0,1,2,3,4,5,6,7}", "starts=[1] ends=[-1] axes=[1]", "f32[2,2]{1,2,5,6}",
     0},
	{"TopK", 1, "f32[2,3]{3,1,2,4,6,5}", "k=2", "f32[2,2]{3,2,6,5} i64[2,2]{0,2,1,2}", 0},
	{"TopK", 9, "f32[2,3]{3,1,2,4,6,5}", "k=1 axis=0", "f32[1,3]{4,6,5} i64[1,3]{1,1,1}", 0},
	{"TopK", 10, "f32[2,3]{3,1,2,4,6,5} =i64[1]{2}", "", "f32[2,2]{3,2,6,5} i64[2,2]{0,2,1,2}", 0},
	{"Squeeze", 11, "f32[1,2,1]{1,2}", "axes=[0,2]", "f32[2]{1,2}", 0},
	{"Squeeze", 11, "f32[1,2,1]{1,2}", "axes=[-1]", "f32[1,2]{1,2}", 0},
	{"Squeeze", 1, "f32[1,2,1]{1,2}", "", "f32[2]{1,2}", 0},
	{"Unsqueeze", 1, "f32[2]{1,2}", "axes=[2,0]", "f32[1,2,1]{1,2}", 0},
	{"Unsqueeze", 11, "f32[2]{1,2}", "axes=[-1]", "f32[2,1]{1,2}", 0},
	{"ReduceSum", 12, X22, "axes=[0] keepdims=0", "f32[2]{4,6}", 0},
	{"ReduceSum", 1, X22, "", "f32[1,1]{10}", 0},
	{"ReduceSum", 12, X22, "axes=[-1]", "f32[2,1]{3,7}", 0},
	{"ReduceL1", 17, "f32[2,2]{1,-2,3,4}", "axes=[1] keepdims=0", "f32[2]{3,7}", 0},
	{"ReduceL2", 17, "f32[2,2]{3,4,6,8}", "axes=[1] keepdims=0", "f32[2]{5,10}", 0},
	{"ReduceLogSum", 17, X22, "axes=[1] keepdims=0", "f32[2]{1.09861229,1.94591015}", 0},
	{"ReduceLogSumExp", 17, "f32[2,2]" LOGS, "axes=[1]", "f32[2,1]{1.09861229,1.94591015}", 0},
	{"ReduceMax", 8, X22, "axes=[0,1]", "f32[1,1]{4}", 0},
	{"ReduceMean", 17, X22, "axes=[1] keepdims=0", "f32[2]{1.5,3.5}", 0},
	{"ReduceMin", 17, X22, "axes=[0] keepdims=0", "f32[2]{1,2}", 0},
	{"ReduceProd", 17, X22, "axes=[1] keepdims=0", "f32[2]{2,12}", 0},
	{"ReduceSumSquare", 17, X22, "axes=[1] keepdims=0", "f32[2]{5,25}", 0},
	{"Split", 12, "f32[4]{1,2,3,4}", "split=[1,3]", "f32[1]{1} f32[3]{2,3,4}", 0},
	{"Split", 2, X22, "axis=1", "f32[2,1]{1,3} f32[2,1]{2,4}", 0},
	{"Split", 17, "f32[4]{1,2,3,4}", "", "f32[2]{1,2} f32[2]{3,4}", 0},
	{"DFT", 17, "f32[1,4,1]{1,2,3,4}", "axis=1", "f32[1,4,2]{10,0,-2,2,-2,0,-2,-2}", 0},
	{"DFT", 17, "f32[2,2,1]{1,2,3,4}", "axis=0", "f32[2,2,2]{4,0,6,0,-2,0,-2,0}", 0},
	{"DFT", 17, "f32[1,2,1,1]{1,3}", "", "f32[1,2,1,2]{4,0,-2,0}", 0},

	/* over all axes from `axis` on, as one */
	{"Softmax", 12, "f32[1,2,2]" LOGS, "", "f32[1,2,2]{0.1,0.2,0.3,0.4}", 0},
	{"Softmax", 11, "f32[1,2,2]" LOGS, "axis=-2", "f32[1,2,2]{0.1,0.2,0.3,0.4}", 0},
	{"Softmax", 12, "f32[2,2]" LOGS, "axis=0", "f32[2,2]{0.1,0.2,0.3,0.4}", 0},
	{"Softmax", 12, "f32[2,2]" LOGS, "axis=1",
     "f32[2,2]{0.33333333,0.66666667,0.42857143,0.57142857}", 0},
	{"Softmax", 12, "f32[1,2,2]" LOGS, "axis=2",
     "f32[1,2,2]{0.33333333,0.66666667,0.42857143,0.57142857}", 0},
	{"Softmax", 6, "f32[2,1,2]" LOGS, "", "f32[2,1,2]{0.33333333,0.66666667,0.42857143,0.57142857}",
     0},
	{"Softmax", 12, "f32[2,2]" LOGS, "axis=2", "f32[2,2]{1,1,1,1}", 0},
	{"Softmax", 3, "f32[1,2,2]" LOGS, "", "f32[1,2,2]{0.1,0.2,0.3,0.4}", 5},
	{"LogSoftmax", 11, "f32[1,2,2]" LOGS, "",
     "f32[1,2,2]{-2.30258509,-1.60943791,-1.2039728,-0.91629073}", 0},
	{"Hardmax", 11, "f32[2,2,2]{1,4,2,3,5,1,1,5}", "", "f32[2,2,2]{0,1,0,0,1,0,0,0}", 0},
	{"Hardmax", 13, "f32[1,2,2]{1,4,2,3}", "axis=1", "f32[1,2,2]{0,1,1,0}", 0},

	/* Upsample and Resize: reads at floor(i / scale), later at the middles of pixels */
	{"Upsample", 8, "f32[1,1,1,2]{1,3}", "scales=[1.0,1.0,1.0,2.0]", "f32[1,1,1,4]{1,1,3,3}", 0},
	{"Upsample", 7, "f32[1,1,1,2]{1,3}", "scales=[1.0,1.0,1.0,2.0] mode=linear",
     "f32[1,1,1,4]{1,2,3,3}", 0},
	{"Upsample", 9, "f32[1,1,1,2]{1,3} =f32[4]{1,1,2,2}", "mode=nearest",
     "f32[1,1,2,4]{1,1,3,3,1,1,3,3}", 0},
	{"Resize", 10, "f32[1,1,1,5]{1,2,3,4,5} =f32[4]{1,1,1,0.6}", "mode=nearest",
     "f32[1,1,1,3]{1,2,4}", 0},
	{"Resize", 10, "f32[1,1,1,2]{1,3} =f32[4]{1,1,1,2}", "mode=linear", "f32[1,1,1,4]{1,2,3,3}", 0},
	{"Resize", 11, "f32[1,1,1,2]{1,3} =f32[0]{} =f32[4]{1,1,1,2}", "mode=linear",
     "f32[1,1,1,4]{1,1.5,2.5,3}", 0},
	{"Resize", 11, "f32[1,1,1,4]{1,2,3,4} =f32[0]{} =f32[0]{} =i64[4]{1,1,1,3}",
     "mode=nearest coordinate_transformation_mode=tf_half_pixel_for_nn nearest_mode=floor",
     "f32[1,1,1,3]{1,3,4}", 0},
	{"Resize", 17, "f32[1,1,1,4]{1,2,3,4} =f32[0]{} =f32[0]{} =i64[4]{1,1,1,2}",
     "mode=nearest coordinate_transformation_mode=asymmetric nearest_mode=floor",
     "f32[1,1,1,2]{1,3}", 0},

	/* names and defaults */
	{"Scatter", 9, "f32[3]{1,2,3} i64[2]{2,0} f32[2]{30,10}", "", "f32[3]{10,2,30}", 0},
	{"Scatter", 10, X22 " i64[2,1]{1,0} f32[2,1]{20,30}", "axis=1", "f32[2,2]{1,20,30,4}", 0},
	{"ScatterElements", 11, "f32[3]{1,2,3} i64[2]{2,0} f32[2]{30,10}", "", "f32[3]{10,2,30}", 0},
	{"ScatterND", 11, "f32[3]{1,2,3} i64[2,1]{2,0} f32[2]{30,10}", "", "f32[3]{10,2,30}", 0},
	{"GridSample", 16, "f32[1,1,2,2]{1,2,3,4} f32[1,1,1,2]{0,0}", "align_corners=1",
     "f32[1,1,1,1]{2.5}", 0},
	{"GridSample", 16, "f32[1,1,2,2]{1,2,3,4} f32[1,1,1,2]{0.5,-1}",
     "mode=bilinear align_corners=1", "f32[1,1,1,1]{1.75}", 0},
	/* weights of a cubic half way, a = -3/4: -3/32, 19/32, 19/32, -3/32; outside is 0 */
	{"GridSample", 16, "f32[1,1,1,2]{32,64} f32[1,1,1,2]{0,0}", "mode=bicubic align_corners=1",
     "f32[1,1,1,1]{57}", 0},
	/* … half a step behind the last element, which its three outer taps show */
	{"GridSample", 16, "f32[1,1,1,2]{32,64} f32[1,1,1,2]{2,0}",
     "mode=bicubic padding_mode=border align_corners=1", "f32[1,1,1,1]{67}", 0},
	{"GroupNormalization", 18, "f32[1,4,1]{1,3,2,6} f32[2]{10,100} f32[2]{1,2}",
     "num_groups=2 epsilon=0.0", "f32[1,4,1]{-9,11,-98,102}", 21},
	{"MaxPool", 1, "f32[1,1,4]{1,3,2,4}", "kernel_shape=[2] strides=[2]", "f32[1,1,2]{3,4}", 0},
	{"MaxPool", 1, "f32[1,1,3]{-1,-3,-2}", "kernel_shape=[2] pads=[1,0] auto_pad=NOTSET",
     "f32[1,1,3]{-1,-1,-2}", 0},
	{"AveragePool", 1, "f32[1,1,2]{3,6}", "kernel_shape=[3] pads=[1,1]", "f32[1,1,2]{4.5,4.5}", 0},
	{"Cast", 6, "f32[2]{1.75,-1.75}", "to=7", "i64[2]{1,-1}", 0},
	{"Reshape", 5, "f32[2,2]{1,2,3,4} =i64[2]{0,-1}", "", "f32[2,2]{1,2,3,4}", 0},
	{"Flatten", 1, "f32[1,2,2]{1,2,3,4}", "axis=2", "f32[2,2]{1,2,3,4}", 0},
	{"LpPool", 1, "f32[1,1,2]{3,4}", "kernel_shape=[2] p=2.0", "f32[1,1,1]{5}", 2},
	{"GlobalLpPool", 1, "f32[1,1,2]{3,4}", "p=1.0", "f32[1,1,1]{7}", 2},
};

/* ---- arrays and attributes from text ---- */

/* "f32[2,2]{1,2,3,4}", as far as `length` goes. */
static Array *
parse_array(const char *text)
{
	const char *bracket = strchr(text, '[');
	DType type = dtype_find(arena_strndup(arena, text, (size_t)(bracket - text)));
	ck_assert_msg(type != DT_NONE, "no type: %s", text);
	int64_t dims[8];
	int rank = 0;
	char *at = (char *)(uintptr_t)bracket + 1;
	while (*at != ']') {
		dims[rank++] = strtoll(at, &at, 10);
		at += *at == ',';
	}
	Array *array = array_new(arena, type, rank, dims);
	at += 2; /* behind "]{" */
	for (int64_t i = 0; i < array_count(array); i++) {
		char *from = at;
		dtype_store_f64(type, array->data, i, strtod(at, &at));
		ck_assert_msg(at > from, "too few elements: %s", text);
		at += *at == ',';
	}
	ck_assert_msg(*at == '}', "too many elements: %s", text);
	return array;
}

/* The words of a text, cut at blanks. */
static StrVec
words_of(const char *text)
{
	StrVec words = {0};
	char *rest = NULL, *copy = arena_strdup(arena, text);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		vec_push(arena, &words, word);
	return words;
}

static void
put_list(Wire *attrs, const char *name, const char *text)
{
	int64_t ints[8];
	Wire attr = {.arena = arena};
	bool is_float = strchr(text, '.') != NULL;
	int count = 0;
	wire_text(&attr, 1, name);
	for (char *at = (char *)(uintptr_t)text + 1; *at && *at != ']'; at += *at == ',') {
		double value = strtod(at, &at);
		if (is_float)
			wire_float(&attr, 7, (float)value);
		else
			ints[count++] = (int64_t)value;
	}
	if (!is_float) {
		put_ints(attrs, name, count, ints);
		return;
	}
	wire_int(&attr, 20, 6);
	wire_message(attrs, 5, &attr);
}

/* "axis=1 alpha=0.5 mode=linear axes=[0,1]": with a point a float, otherwise an integer. */
static Wire
parse_attrs(const char *text)
{
	Wire attrs = {.arena = arena};
	StrVec words = words_of(text);
	for (int i = 0; i < words.count; i++) {
		const char *value = strchr(words.data[i], '=') + 1;
		const char *name = arena_strndup(arena, words.data[i], (size_t)(value - 1 - words.data[i]));
		if (*value == '[')
			put_list(&attrs, name, value);
		else if (!strchr("-0123456789", *value))
			put_string(&attrs, name, value);
		else if (strchr(value, '.'))
			put_float(&attrs, name, strtof(value, NULL));
		else
			put_int(&attrs, name, strtoll(value, NULL, 10));
	}
	return attrs;
}

/* ---- models of one node ---- */

static Bytes
case_model(const Case *c)
{
	ModelMaker m = maker(arena);
	Buf in = {.arena = arena}, out = {.arena = arena};
	StrVec inputs = words_of(c->inputs), outputs = words_of(c->outputs);
	for (int i = 0; i < inputs.count; i++) {
		const char *text = inputs.data[i], *name = arena_printf(arena, "x%d", i);
		buf_printf(&in, "%s%s", i ? " " : "", *text == '_' ? "_" : name);
		if (*text == '_')
			continue;
		const Array *array = parse_array(text + (*text == '='));
		if (*text == '=')
			make_initializer(&m, name, array->type, array->rank, array->dims, array->data,
			                 array_bytes(array));
		else
			make_value(&m, INPUT, name, array->type, array->rank, array->dims);
	}
	for (int i = 0; i < outputs.count; i++) {
		buf_printf(&out, "%sy%d", i ? " " : "", i);
		make_value(&m, OUTPUT, arena_printf(arena, "y%d", i), DT_NONE, -1, NULL);
	}
	Wire attrs = parse_attrs(c->attrs);
	make_node(&m, c->op, buf_text(&in), buf_text(&out), &attrs);
	return make_model(&m, 8, c->opset);
}

static void
expect_values(const Case *c, const char *when, const char *text, const Array *seen)
{
	const Array *want = parse_array(text);
	ck_assert_msg(seen && seen->type == want->type && seen->rank == want->rank,
	              "%s-%d %s: type %s, rank %d, not %s", c->op, c->opset, when,
	              dtype_name(seen->type), seen->rank, text);
	for (int i = 0; i < want->rank; i++)
		ck_assert_msg(seen->dims[i] == want->dims[i], "%s-%d %s: dim %d is %lld, not %s", c->op,
		              c->opset, when, i, (long long)seen->dims[i], text);
	for (int64_t i = 0; i < array_count(want); i++) {
		double a = dtype_load_f64(seen->type, seen->data, i);
		double b = dtype_load_f64(want->type, want->data, i);
		ck_assert_msg(fabs(a - b) <= 1e-6 * fmax(1, fabs(b)),
		              "%s-%d %s: element %lld is %.9g, not %s", c->op, c->opset, when, (long long)i,
		              a, text);
	}
}

static void
expect_case(const Case *c, const char *when, const Graph *graph)
{
	const Array *in[8], *out[8];
	int given = 0;
	StrVec inputs = words_of(c->inputs), outputs = words_of(c->outputs);
	for (int i = 0; i < inputs.count; i++)
		if (*inputs.data[i] != '=' && *inputs.data[i] != '_')
			in[given++] = parse_array(inputs.data[i]);
	ck_assert_int_eq(graph->body->nparam, given);
	eval_graph(arena, graph, in, out);
	for (int i = 0; i < outputs.count; i++)
		expect_values(c, when, outputs.data[i], out[i]);
}

/* Write the graph for an opset at least (0: its own) and read it again; returns what is written. */
static const Onnx__ModelProto *
write_and_read(Graph **graph, int64_t opset)
{
	const char *path = arena_printf(arena, "%s/m.onnx", folder);
	OnnxWriteOptions options = {.opset = opset};
	onnx_write(*graph, path, &options);
	Onnx__ModelProto *model =
		onnx_unpack(arena, "written", &onnx__model_proto__descriptor, file_map(arena, path));
	*graph = onnx_read(arena, path, NULL);
	return model;
}

static const Onnx__NodeProto *
node_of(const Onnx__ModelProto *model, const char *op)
{
	for (size_t i = 0; i < model->graph->n_node; i++)
		if (strcmp(model->graph->node[i]->op_type, op) == 0)
			return model->graph->node[i];
	return NULL;
}

static Bytes
packed(const Onnx__AttributeProto *attr)
{
	size_t size = onnx__attribute_proto__get_packed_size(attr);
	uint8_t *bytes = arena_alloc(arena, size + 1);
	onnx__attribute_proto__pack(attr, bytes);
	return (Bytes){bytes, size};
}

static const Onnx__AttributeProto *
attr_of(const Onnx__NodeProto *node, const char *name)
{
	for (size_t i = 0; i < node->n_attribute; i++)
		if (strcmp(node->attribute[i]->name, name) == 0)
			return node->attribute[i];
	return NULL;
}

static bool
is_in(const char *words, const char *name)
{
	StrVec list = words_of(words);
	for (int i = 0; i < list.count; i++)
		if (strcmp(list.data[i], name) == 0)
			return true;
	return false;
}

/* Reading is lenient about forms of newer opsets; what is written must not count on that: the node
 * has the inputs and attributes of its own opset again. Some attributes may be said in another way
 * (an axis counted from the front, or a default), and some defaults are written out. Empty tensors
 * of Resize may be absent since 13. */
static void
expect_form(const Case *c, const Onnx__ModelProto *written)
{
	static const char FREE[] = "axis spatial consumed_inputs coordinate_transformation_mode "
							   "nearest_mode";
	const Onnx__ModelProto *old =
		onnx_unpack(arena, "old", &onnx__model_proto__descriptor, case_model(c));
	const Onnx__NodeProto *a = node_of(old, c->op), *b = node_of(written, c->op);
	ck_assert_msg(b != NULL, "%s-%d is written as something else", c->op, c->opset);
	ck_assert_msg(a->n_input == b->n_input, "%s-%d is written with %zu inputs", c->op, c->opset,
	              b->n_input);
	for (size_t i = 0; i < a->n_input; i++)
		ck_assert_msg(*a->input[i] == 0 || *b->input[i] != 0 || c->opset >= 13,
		              "%s-%d is written without input %zu", c->op, c->opset, i);
	for (size_t i = 0; i < a->n_attribute; i++) {
		const char *name = a->attribute[i]->name;
		const Onnx__AttributeProto *attr = attr_of(b, name);
		if (is_in(FREE, name))
			continue;
		ck_assert_msg(attr != NULL, "%s-%d has lost its %s", c->op, c->opset, name);
		Bytes x = packed(a->attribute[i]), y = packed(attr);
		ck_assert_msg(x.size == y.size && memcmp(x.data, y.data, x.size) == 0,
		              "%s-%d is written with another %s", c->op, c->opset, name);
	}
	for (size_t i = 0; i < b->n_attribute; i++) {
		const char *name = b->attribute[i]->name;
		ck_assert_msg(attr_of(a, name) || is_in("axis broadcast mode", name),
		              "%s-%d is written with a %s of its own", c->op, c->opset, name);
	}
}

START_TEST(an_old_node_has_its_old_values)
{
	const Case *c = &CASES[_i];
	Failure failure;
	Graph *graph = try_bytes(arena, case_model(c), &failure), *again = graph;
	ck_assert_msg(graph != NULL, "%s-%d: %s", c->op, c->opset, failure.text);
	expect_case(c, "read", graph);
	const Onnx__ModelProto *written = write_and_read(&again, 0);
	int64_t opset = written->opset_import[0]->version;
	ck_assert_msg(opset == (c->written ? c->written : c->opset), "%s-%d is written for opset %lld",
	              c->op, c->opset, (long long)opset);
	if (!c->written)
		expect_form(c, written);
	expect_case(c, "written for its own opset", again);
	written = write_and_read(&graph, ONNX_DIALECT);
	ck_assert_int_eq(written->opset_import[0]->version, ONNX_DIALECT);
	expect_case(c, "written for the dialect", graph);
}
END_TEST

/* What no adapter can say is refused: never read with another meaning. */
static const struct {
	Case model;
	const char *text;
} REFUSED[] = {
	{{"Cast", 5, "f32[2]{1,2}", "to=INT64", "i64[2]{1,2}", 0}, "opset 5 is older"},
	{{"Reshape", 4, X22, "shape=[4]", "f32[4]{1,2,3,4}", 0}, "opset 4 is older"},
	{{"Tile", 5, "f32[1]{1} =f32[1]{2} =f32[1]{0}", "", "f32[2]{1,1}", 0}, "opset 5 is older"},
	{{"Pad", 1, "f32[1]{1}", "paddings=[1,0]", "f32[2]{0,1}", 0}, "opset 1 is older"},
	{{"Split", 1, "f32[2]{1,2}", "", "f32[1]{1} f32[1]{2}", 0}, "opset 1 is older"},
	{{"Upsample", 6, "f32[1,1,1,1]{1}", "width_scale=2.0 height_scale=1.0", "f32[1,1,1,2]{1,1}", 0},
     "opset 6 is older"},
	{{"BatchNormalization", 8, "f32[1,2,2]{1,3,5,9}" NORM, "spatial=0", "f32[1,2,2]{0,0,0,0}", 0},
     "spatial=0"},
	{{"BatchNormalization", 13, "f32[1,1,1]{1} f32[1]{1} f32[1]{1} f32[1]{1} f32[1]{1}", "",
      "f32[1,1,1]{1} f32[1]{1} f32[1]{1} f32[1]{1} f32[1]{1}", 0},
     "saved_mean"},
	{{"Scan", 8, "_ f32[1,1]{1} f32[1,1,1]{1}", "num_scan_inputs=1", "f32[1,1]{1} f32[1,1,1]{1}",
      0},
     "Scan of opset 8"},
	{{"Softmax", 12, X22, "axis=3", X22, 0}, "axis 3 of an input of rank 2"},
	{{"Add", 6, X23 " f32[2]{1,2}", "broadcast=1 axis=2", X23, 0}, "does not fit"},
};

START_TEST(what_has_no_adapter_is_refused)
{
	Failure failure;
	const Case *c = &REFUSED[_i].model;
	Graph *graph = try_bytes(arena, case_model(c), &failure);
	ck_assert_msg(graph == NULL, "%s-%d is read", c->op, c->opset);
	ck_assert_msg(strstr(failure.text, REFUSED[_i].text) != NULL, "%s", failure.text);
}
END_TEST

/* Nodes in the form of the dialect, in a model of an old opset: written for that, where it can say
 * them, otherwise for the first that can. */
static const Case YOUNGER[] = {
	{"Softmax", 12, "f32[2,2]{0,0,0,1.09861229}", "axis=0", "f32[2,2]{0.5,0.25,0.5,0.75}", 13},
	{"Softmax", 12, "f32[2,1]{0,1.09861229}", "axis=0", "f32[2,1]{0.25,0.75}", 0},
	{"LogSoftmax", 12, "f32[2,2]{0,0,0,0}", "axis=0",
     "f32[2,2]{-0.69314718,-0.69314718,-0.69314718,-0.69314718}", 13},
	{"Hardmax", 12, X22, "axis=0", "f32[2,2]{0,0,1,1}", 13},
	{"Split", 17, "f32[3]{1,2,3}", "num_outputs=2", "f32[2]{1,2} f32[1]{3}", 18},
	{"Split", 17, "f32[4]{1,2,3,4}", "num_outputs=2", "f32[2]{1,2} f32[2]{3,4}", 0},
	{"Pad", 17, "f32[1,2]{1,2} =i64[2]{1,0} _ =i64[1]{1}", "", "f32[1,3]{0,1,2}", 18},
	{"ScatterElements", 17, "f32[2]{1,2} i64[1]{0} f32[1]{5}", "reduction=max", "f32[2]{5,2}", 18},
	{"ScatterND", 16, "f32[2]{1,2} i64[1,1]{0} f32[1]{5}", "reduction=min", "f32[2]{1,2}", 18},
	{"ScatterElements", 15, "f32[2]{1,2} i64[1]{0} f32[1]{5}", "reduction=add", "f32[2]{6,2}", 16},
	{"ScatterND", 15, "f32[2]{1,2} i64[1,1]{0} f32[1]{5}", "reduction=mul", "f32[2]{5,2}", 16},
	{"ScatterElements", 10, "f32[2]{1,2} i64[1]{0} f32[1]{5}", "", "f32[2]{5,2}", 0},
	{"Resize", 10, "f32[1,1,1,2]{1,3} _ =f32[4]{1,1,1,2}", "mode=linear",
     "f32[1,1,1,4]{1,1.5,2.5,3}", 11},
	{"Resize", 12, "f32[1,1,1,2]{1,3} _ =f32[4]{1,1,1,2}", "", "f32[1,1,1,4]{1,1,3,3}", 0},
	{"Gemm", 10, X22 " f32[2,1]{1,1}", "", "f32[2,1]{3,7}", 11},
	{"Clip", 10, "f32[2]{-2,2} f32[]{-1}", "", "f32[2]{-1,2}", 11},
	{"Slice", 9, "f32[4]{0,1,2,3} =i64[1]{0} =i64[1]{4} _ =i64[1]{2}", "", "f32[2]{0,2}", 10},
	{"TopK", 10, "f32[3]{3,1,2} =i64[1]{1}", "largest=0", "f32[1]{1} i64[1]{1}", 11},
	{"ReduceSum", 12, X22, "noop_with_empty_axes=1", X22, 13},
	{"ReduceMax", 17, X22, "noop_with_empty_axes=1", X22, 18},
	{"PRelu", 6, "f32[2,2]{-1,2,-3,-4} " X22, "", "f32[2,2]{-1,2,-9,-16}", 7},
	{"Add", 6, "f32[2,1]{1,2} f32[1,2]{10,20}", "", "f32[2,2]{11,21,12,22}", 7},
	{"Add", 6, "f32[2]{1,2} f32[2,2]{10,20,30,40}", "", "f32[2,2]{11,22,31,42}", 7},
	{"Dropout", 9, "f32[2]{1,2}", "", "f32[2]{1,2} bool[2]{1,1}", 10},
	{"DFT", 19, "f32[1,2,1]{1,3}", "", "f32[1,2,2]{4,0,-2,0}", 20},
	{"GroupNormalization", 20, "f32[1,2,1]{1,3} f32[2]{1,10} f32[2]{0,1}",
     "num_groups=1 epsilon=0.0", "f32[1,2,1]{-1,11}", 21},
	{"Reshape", 4, "f32[2,1]{1,2} =i64[1]{2}", "", "f32[2]{1,2}", 5},
	{"Cast", 5, "f32[1]{1.75}", "to=7", "i64[1]{1}", 6},
	{"Where", 6, "bool[2]{1,0} f32[2]{1,2} f32[2]{3,4}", "", "f32[2]{1,4}", 9},
};

START_TEST(what_an_opset_cannot_say_raises_it)
{
	const Case *c = &YOUNGER[_i];
	Case young = *c;
	young.opset = ONNX_DIALECT;
	Graph *graph = onnx_read_bytes(arena, "test.onnx", case_model(&young), NULL);
	graph->opsets.data[0].version = c->opset;
	int64_t opset = write_and_read(&graph, 0)->opset_import[0]->version;
	ck_assert_msg(opset == (c->written ? c->written : c->opset),
	              "%s in a model of opset %d is written for opset %lld", c->op, c->opset,
	              (long long)opset);
	expect_case(c, "written", graph);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("onnx_opsets");
	tcase_add_checked_fixture(t, begin, end);
	tcase_add_loop_test(t, an_old_node_has_its_old_values, 0, (int)countof(CASES));
	tcase_add_loop_test(t, what_an_opset_cannot_say_raises_it, 0, (int)countof(YOUNGER));
	tcase_add_loop_test(t, what_has_no_adapter_is_refused, 0, (int)countof(REFUSED));
	return unit_run(t);
}

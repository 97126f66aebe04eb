/* zoo: writes the models that tests, examples and benchmarks use.
 *
 *     zoo list
 *     zoo resnet50 --batch 8 -o resnet50.onnx
 *     zoo reweight light_vgg19.onnx -o vgg19.onnx
 */
#include "zoo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/infer.h"
#include "onnx/onnx.h"

enum { OPSET = 17, IR_VERSION = 8 };

static const struct {
	const char *name;
	void (*build)(Zoo *zoo);
	const char *doc;
} MODELS[] = {
	{"resnet18", resnet18, "ResNet-18, images 224x224"},
	{"resnet50", resnet50, "ResNet-50, images 224x224"},
	{"vgg11", vgg11, "VGG-11, images 224x224; 507 MB"},
	{"mobilenetv2", mobilenetv2, "MobileNetV2, images 224x224"},
	{"squeezenet", squeezenet, "SqueezeNet 1.1, images 224x224"},
	{"dcgan", dcgan, "generator of DCGAN, 100 numbers to images 64x64"},
	{"infogan", infogan, "generator of InfoGAN, 228 numbers to images 32x32"},
	{"fsrcnn", fsrcnn, "FSRCNN, images 32x32 to 128x128"},
	{"csrnet", csrnet, "back end of CSRNet, dilated convolutions of maps 14x14"},
	{"gcn", gcn, "Global Convolutional Network, images 224x224 segmented"},
	{"longformer", longformer,
     "attention in a dilated band; --set length, window, dilation, heads"},
	{"longformer-tiny", longformer_tiny, "the same graph with 2 heads of 32, 40 tokens"},
	{"bert-base", bert_base, "BERT-base encoder, 128 tokens; 440 MB"},
	{"bert-tiny", bert_tiny, "the same graph with 2 layers of 128, 16 tokens"},
};

typedef struct Options {
	const char *name, *input, *output;
	int64_t batch; /* 0: symbolic */
	StrVec settings;
} Options;

static const char USAGE[] = "usage: zoo NAME [--batch N | --symbolic] [--set KEY=N] -o FILE.onnx"
							" | zoo reweight IN.onnx -o OUT.onnx | zoo list";

static int64_t
number_of(const char *what, const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);
	if (*end || number < 1)
		fail_as(FAIL_USAGE, NULL, "%s: expected a number from 1 up, saw '%s'", what, text);
	return number;
}

int64_t
zoo_setting(Zoo *zoo, const char *name, int64_t fallback)
{
	size_t length = strlen(name);
	for (int i = 0; i < zoo->settings.count; i++) {
		const char *text = zoo->settings.data[i];
		if (strncmp(text, name, length) != 0 || text[length] != '=')
			continue;
		zoo->settings.data[i] = "";
		return number_of(name, text + length + 1);
	}
	return fallback;
}

static void
need_settings_used(const Zoo *zoo)
{
	for (int i = 0; i < zoo->settings.count; i++)
		if (*zoo->settings.data[i])
			fail_as(FAIL_USAGE, NULL, "--set %s: %s has no such setting", zoo->settings.data[i],
			        zoo->graph->name);
}

static Options
parse_options(Arena *arena, int argc, char **argv)
{
	Options options = {.batch = 1};
	for (int i = 1; i < argc; i++) {
		bool has_next = i + 1 < argc;
		if (strcmp(argv[i], "-o") == 0 && has_next)
			options.output = argv[++i];
		else if (strcmp(argv[i], "--batch") == 0 && has_next)
			options.batch = number_of("--batch", argv[++i]);
		else if (strcmp(argv[i], "--set") == 0 && has_next)
			vec_push(arena, &options.settings, argv[++i]);
		else if (strcmp(argv[i], "--symbolic") == 0)
			options.batch = 0;
		else if (argv[i][0] == '-')
			fail_as(FAIL_USAGE, NULL, "unknown option %s; %s", argv[i], USAGE);
		else if (!options.name)
			options.name = argv[i];
		else
			options.input = argv[i];
	}
	if (!options.name)
		fail_as(FAIL_USAGE, NULL, "%s", USAGE);
	return options;
}

static void
need_output(const Options *options)
{
	if (!options->output)
		fail_as(FAIL_USAGE, NULL, "no output: add -o FILE.onnx");
}

static void
reweight(Arena *arena, const Options *options)
{
	if (!options->input)
		fail_as(FAIL_USAGE, NULL, "%s", USAGE);
	need_output(options);
	Graph *graph = onnx_read(arena, options->input, NULL);
	int count = weights_forget(graph);
	weights_fill(graph);
	onnx_write(graph, options->output, NULL);
	printf("%s: %d weights made\n", options->output, count);
}

static void
build(Arena *arena, const Options *options, const char *name, void (*model)(Zoo *zoo))
{
	need_output(options);
	Zoo zoo = {
		.arena = arena,
		.graph = graph_new(arena, name, NULL),
		.settings = options->settings,
	};
	ExprCtx *ctx = zoo.graph->ctx;
	zoo.batch = options->batch ? dim_const(ctx, options->batch) : dim_symbol(ctx, "batch");
	zoo.graph->ir_version = IR_VERSION;
	vec_push(arena, &zoo.graph->opsets, (OpsetImport){"", OPSET});
	model(&zoo);
	need_settings_used(&zoo);
	graph_infer(zoo.graph);
	weights_fill(zoo.graph);
	onnx_write(zoo.graph, options->output, NULL);
	if (zoo.append)
		zoo.append(&zoo, options->output);
}

typedef struct Job {
	Arena *arena;
	int argc;
	char **argv;
} Job;

static void
run(void *arg)
{
	Job *job = arg;
	Options options = parse_options(job->arena, job->argc, job->argv);
	if (strcmp(options.name, "list") == 0) {
		for (size_t i = 0; i < countof(MODELS); i++)
			printf("%-15s %s\n", MODELS[i].name, MODELS[i].doc);
		return;
	}
	if (strcmp(options.name, "reweight") == 0) {
		reweight(job->arena, &options);
		return;
	}
	for (size_t i = 0; i < countof(MODELS); i++)
		if (strcmp(options.name, MODELS[i].name) == 0) {
			build(job->arena, &options, MODELS[i].name, MODELS[i].build);
			return;
		}
	fail_as(FAIL_USAGE, NULL, "no model is called %s; zoo list shows them", options.name);
}

int
main(int argc, char **argv)
{
	Arena *arena = arena_new("zoo");
	Job job = {arena, argc, argv};
	Failure failure;
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		puts(USAGE);
		arena_free(arena);
		return 0;
	}
	bool is_done = try_run(run, &job, &failure);
	arena_free(arena);
	if (!is_done)
		fprintf(stderr, "zoo: %s\n", failure.text);
	return is_done ? 0 : (int)failure.kind;
}

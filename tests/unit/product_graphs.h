/* Graphs for lowering: products with their channels in lanes. Values in blocks of channels,
 * borders, strides, whole rows and tiles of them, channels that fill half a vector, or none, one
 * filter for each channel, groups; and lanes along positions.
 */
#ifndef PRODUCT_GRAPHS_H
#define PRODUCT_GRAPHS_H

static const char *const products[] = {
	"graph g(%x: f32[N,3,9,15]) -> %y { %w: f32[32,3,3,3] = weight 0 %b: f32[32] = weight 1\n"
	"%v: f32[16,32,3,3] = weight 2\n"
	"%c = Conv(%x, %w, %b) {pads=[1,1,1,1], strides=[2,1]} \"c\"\n %r = Relu(%c) \"r\"\n"
	"%d = Conv(%r, %v) {pads=[0,1,1,2]} \"d\"\n %y = Relu(%d) \"y\" }",
	"graph g(%x: f32[N,16,5,6]) -> %y { %w: f32[32,16,1,1] = weight 0\n"
	"%v: f32[32,1,3,3] = weight 1 %u: f32[24,32,1,1] = weight 2 %t: f32[16,24,1,1] = weight 3\n"
	"%c = Conv(%x, %w) \"c\"\n %r = Relu(%c) \"r\"\n"
	"%d = Conv(%r, %v) {group=32, pads=[1,1,1,1]} \"d\"\n %e = Conv(%d, %u) \"e\"\n"
	"%f = Conv(%e, %t) \"f\"\n %y = Add(%f, %x) \"y\" }",
	"graph g(%x: f32[N,16,40]) -> %y { %w: f32[16,16,5] = weight 0 %v: f32[20,16,1] = weight 1\n"
	"%c = Conv(%x, %w) {pads=[4,4], dilations=[2]} \"c\"\n %y = Conv(%c, %v) \"y\" }",
	"graph g(%x: f32[N,16,2,3,4]) -> %y { %w: f32[64,16,1,3,3] = weight 0\n"
	"%v: f32[64,1,2,1,3] = weight 1\n %c = Conv(%x, %w) {pads=[0,1,1,0,1,1]} \"c\"\n"
	"%y = Conv(%c, %v) {group=64, pads=[1,0,1,0,0,1]} \"y\" }",
	"graph g(%x: f32[N,32,5,7]) -> %y { %w: f32[32,16,3,3] = weight 0\n"
	"%v: f32[32,8,1,1] = weight 1\n"
	"%c = Conv(%x, %w) {group=2, pads=[1,1,1,1]} \"c\"\n %r = Relu(%c) \"r\"\n"
	"%y = Conv(%r, %v) {group=4} \"y\" }",
	"graph g(%x: f32[N,32,5,7]) -> %y { %w: f32[32,16,4,4] = weight 0\n"
	"%y = ConvTranspose(%x, %w) {strides=[2,2], pads=[1,1,1,1]} \"y\" }",
	"graph g(%x: f32[N,8,2,23]) -> %y { %w: f32[48,8,1,3] = weight 0 %v: f32[8,48,1,3] = weight 1\n"
	"%c = Conv(%x, %w) {pads=[0,1,0,1]} \"c\"\n %r = Relu(%c) \"r\"\n"
	"%y = Conv(%r, %v) {pads=[0,1,0,1]} \"y\" }",
	"graph g(%a: f32[N,12,20], %b: f32[N,20,40]) -> %y { %m = MatMul(%a, %b) \"m\"\n"
	"%y = Relu(%m) \"y\" }",
	"graph g(%x: f32[N,20,5,5]) -> %y { %w: f32[60,10,1,1] = weight 0\n"
	"%c = Conv(%x, %w) {group=2} \"c\"\n %y = Relu(%c) \"y\" }",
	"graph g(%x: f32[N,12,64]) -> %y { %w: f32[64,48] = weight 0 %b: f32[48] = weight 1\n"
	"%m = MatMul(%x, %w) \"m\"\n %y = Add(%m, %b) \"y\" }",
	/* factors that are copied in blocks: whole pieces, and shorter last pieces and blocks */
	"graph g(%q: f32[2,96,40], %k: f32[2,160,40], %b: f32[160]) -> %y {\n"
	"%t = Transpose(%k) {perm=[0,2,1]} \"t\"\n %m = MatMul(%q, %t) \"m\"\n"
	"%y = Add(%m, %b) \"y\" }",
	"graph g(%q: f32[104,70], %k: f32[240,70]) -> %y {\n"
	"%t = Transpose(%k) {perm=[1,0]} \"t\"\n %y = MatMul(%q, %t) \"m\" }",
};

#endif

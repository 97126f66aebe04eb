/* The bounded walk: what happens to the bytes of a file before protobuf-c sees any of them.
 *
 * A message is read once, by the tables that protoc-c made, and written again as a skeleton: known
 * fields only, lengths checked, and in the place of each TensorProto.raw_data the 16 bytes of a
 * view (offset, length) into the file. A model of 500 MB becomes a skeleton of some hundred
 * kilobytes, and its weights stay where they are, in the mapped file.
 *
 * Refused, with the byte and the path ("graph.node[3].attribute[0].t"): a length beyond its
 * message, a varint over 10 bytes, a wire type that is not the field's, nesting over 100, a
 * singular message given twice, a zero byte in a name, and a file that would unpack to far more
 * than its size.
 */
#ifndef ONNX_WALK_H
#define ONNX_WALK_H

#include "base/file.h"
#include "onnx.pb-c.h"

enum { WALK_MAX_DEPTH = 100 };

/* The skeleton of a message of type `type`, in the arena. */
Bytes walk_message(Arena *arena, const char *file, const ProtobufCMessageDescriptor *type,
                   Bytes bytes);

/* walk_message(), then protobuf-c. The message lives as long as the arena; views lead into `bytes`,
 * which must live as long. Fails where either refuses. */
void *onnx_unpack(Arena *arena, const char *file, const ProtobufCMessageDescriptor *type,
                  Bytes bytes);

/* Where the bytes of a raw_data field of an unpacked message are. */
Bytes onnx_raw_view(Bytes file, const ProtobufCBinaryData *raw);

#endif

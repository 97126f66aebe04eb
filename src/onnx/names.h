/* Keys under which the exporter notes what ONNX has no field for, and the importer reads it again.
 */
#ifndef ONNX_NAMES_H
#define ONNX_NAMES_H

/* Graph metadata: KEY_DIM "d_batch_size" = "batch size", the model's spelling of a symbol. */
#define KEY_DIM "tilewright.dim."

/* metadata_props of a node (IR 10), or the beginning of its doc_string: the names of the model's
 * nodes it was made from, one per line. */
#define KEY_ORIGINS "tilewright.origins"

#endif

/* The vendor libraries of this program, each filled in by its folder: a name in a plan is one of
 * these or none. A program that is linked with another table knows others (tests/library). */
#include "runtime/vendor.h"

extern const VendorLibrary vendor_onednn, vendor_cublaslt, vendor_cudnn;

const VendorLibrary *const vendor_libraries[] = {&vendor_onednn, &vendor_cublaslt, &vendor_cudnn,
                                                 NULL};

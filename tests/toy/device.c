/* The table of devices with that of the test. */
#define DEVICE_ROWS "../../tests/toy/devices.def"
#include "../../src/target/device.c"

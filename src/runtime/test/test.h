/* The CPU behind memory of its own, for tests (stream.c). */
#ifndef RUNTIME_TEST_TEST_H
#define RUNTIME_TEST_TEST_H

#include "runtime/backend.h"

extern const Backend backend_test;

#endif

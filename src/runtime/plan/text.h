/* The words of a plan's JSON, for writer and reader. Order: the enums of plan.h. */
#ifndef RUNTIME_PLAN_TEXT_H
#define RUNTIME_PLAN_TEXT_H

extern const char *const plan_op_words[];
extern const char *const plan_source_words[];
extern const char *const plan_buffer_words[];
extern const char *const plan_place_words[];
extern const char *const plan_step_words[];
extern const char *const plan_attr_words[];

enum { PLAN_OPS = 25, PLAN_SOURCES = 4, PLAN_BUFFERS = 7, PLAN_STEPS = 7, PLAN_ATTRS = 3 };

#endif

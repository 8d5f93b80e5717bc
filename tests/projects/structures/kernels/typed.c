/* Functions that stand in another file, and get their names here. */
#include "tensorize.h"

#define JOINED(name, type) name##_##type
#define NAMED(name, type) JOINED(name, type)
#define OF_TYPE(name) NAMED(name, NUMBER)

#define NUMBER double
#include "typed_source.c"
#undef NUMBER
#define NUMBER int
#include "typed_source.c"

#include "CConiferKit.h"

__attribute__((constructor)) static void load(void) { conifer_kit_load(); }

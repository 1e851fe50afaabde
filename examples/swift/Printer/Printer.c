/* The C examples' driver: a package cannot use files outside of its folder. */
#include "../../c/printer.c"

/* The C examples' own: a package has no files outside of its folder. */
#include "../../c/printer.c"

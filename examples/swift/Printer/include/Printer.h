#include "../../../c/printer.h"

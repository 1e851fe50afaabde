#include "CSwiftTask.h"

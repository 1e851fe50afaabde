// The characters of texts that come from elsewhere, such as names of files.
#include "CInturnSystem.h"

int inturn_system_character(const char *text) {
  unsigned first = (unsigned char)text[0], least = 0x80, most = 0xbf;
  if (first < 0x80)
    return 1;
  int length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4)
    return 0;
  if (first == 0xe0)
    least = 0xa0;
  else if (first == 0xed)
    most = 0x9f;
  else if (first == 0xf0)
    least = 0x90;
  else if (first == 0xf4)
    most = 0x8f;
  for (int place = 1; place < length; place++) {
    if ((unsigned char)text[place] < least || (unsigned char)text[place] > most)
      return 0;
    least = 0x80;
    most = 0xbf;
  }
  return length;
}

bool inturn_system_is_control(const char *text) {
  unsigned char first = (unsigned char)text[0];
  return first < 0x20 || first == 0x7f ||
         (first == 0xc2 && (unsigned char)text[1] < 0xa0);
}

/*
 * look.h - the look of the time lines: for timeline.h, in C, and for
 * timeline.py, which reads these lines. They are attributes, which every
 * renderer supports; the style is only for dark pages.
 *
 * SPDX-License-Identifier: MIT
 */
/* clang-format off */
#define LOOK_plain "fill='#1f2328'"
#define LOOK_title "class='title' fill='#1f2328' font-weight='600' font-size='15'"
#define LOOK_quiet "class='quiet' fill='#59636e' font-size='12'"
#define LOOK_inside "class='inside' fill='#ffffff'"
#define LOOK_paper "class='paper' fill='#ffffff' stroke='#d1d9e0'"
#define LOOK_line "class='line' stroke='#d1d9e0'"
#define LOOK_waits "class='waits' fill='none' stroke='#8c959f' stroke-dasharray='3 3'"
#define LOOK_photo1 "class='photo1' fill='#2f6fd0'"
#define LOOK_photo2 "class='photo2' fill='#b35900'"
#define LOOK_photo3 "class='photo3' fill='#1a7f64'"
#define LOOK_FONT "font-family='system-ui, -apple-system, Segoe UI, DejaVu Sans, sans-serif' font-size='14'"
#define LOOK_STYLE "@media (prefers-color-scheme: dark) { text { fill: #f0f6fc } text.quiet { fill: #9198a1 } text.inside { fill: #ffffff } .paper { fill: #0d1117; stroke: #3d444d } .line { stroke: #2f353d } .waits { stroke: #9198a1 } }"
/* clang-format on */

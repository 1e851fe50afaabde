// What the theme leaves out for those who read without a mouse, or with their ears: what scrolls
// sideways can be scrolled by keyboard, and the headings of the contents have a level.
document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll("pre, .table-wrapper")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
  for (const caption of document.querySelectorAll("[role=heading]")) {
    caption.ariaLevel = "2";
  }
});

// Light or dark before anything is painted, as chosen here the last time; without a choice as the system has it.
"use strict";
try {
  const theme = localStorage.getItem("glpreview.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // A browser that keeps nothing for us: as the system has it.
}

// Sets light or dark before anything is painted, as last chosen here, or by default as in the system.
"use strict";
try {
  const theme = localStorage.getItem("glpreview.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Without local storage the system's setting applies.
}

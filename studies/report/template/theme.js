// Light or dark: what the system says, until the button says otherwise.
const data = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
let chosenTheme = null;
const themeListeners = [];

function applyTheme() {
  const theme = chosenTheme ?? (systemDark.matches ? "dark" : "light");
  root.dataset.theme = theme;
  document.getElementById("theme-name").textContent = theme === "dark" ? "light" : "dark";
  themeListeners.forEach((listener) => listener());
}

systemDark.addEventListener("change", applyTheme);
document.getElementById("theme").addEventListener("click", () => {
  chosenTheme = root.dataset.theme === "dark" ? "light" : "dark";
  applyTheme();
});
applyTheme();

// "@blue" is a colour of the style sheet; everything else is what it is.
function themed(value, style = getComputedStyle(root)) {
  if (typeof value === "string") {
    return value.startsWith("@") ? style.getPropertyValue(`--${value.slice(1)}`).trim() || value : value;
  }
  // Texts may begin with anything: lists hold numbers, texts and shapes, of which only shapes have colours.
  if (Array.isArray(value)) {
    return value.map((item) => (item !== null && typeof item === "object" ? themed(item, style) : item));
  }
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, key === "name" || key === "text" ? item : themed(item, style)])
    );
  }
  return value;
}

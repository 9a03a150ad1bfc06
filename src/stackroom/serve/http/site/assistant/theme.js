// The colours and letters of the assistant, as far as it tells them, in place of the page's own.
const TAKEN = {
  "--ground": "--color-background-primary", "--paper": "--color-background-primary", "--code": "--color-background-secondary",
  "--ink": "--color-text-primary", "--quiet": "--color-text-secondary", "--line": "--color-border-primary", "--mono": "--font-mono",
};

export function wear({theme, styles}) {
  const root = document.documentElement, given = styles?.variables ?? {};
  if (theme) root.dataset.theme = theme === "dark" ? "dark" : "light";
  root.style.colorScheme = root.dataset.theme;
  for (const [own, theirs] of Object.entries(TAKEN)) if (given[theirs]) root.style.setProperty(own, given[theirs]);
  if (given["--font-sans"]) document.body.style.fontFamily = given["--font-sans"];
}

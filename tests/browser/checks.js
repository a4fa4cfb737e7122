// What is wrong with a page, as lists of where.
const controls = () =>
  [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
    .filter((each) => each.checkVisibility({ visibilityProperty: true }));
const told = (each) => `${each.tagName.toLowerCase()} ${each.id || each.className} ${each.textContent.trim().slice(0, 40)}`;

const unnamed = () => controls().filter((each) => {
  const labels = [...(each.labels ?? [])].map((label) => label.textContent.trim()).join("");
  const by = (each.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join("");
  const own = /^(A|BUTTON|SUMMARY)$/.test(each.tagName) ? each.textContent.trim() : "";
  return !(labels || each.getAttribute("aria-label") || by.trim() || own);
}).map(told);

// Whatever comes later in the page is not above what comes before it, within a column.
const outOfOrder = () => {
  const found = controls().filter((each) => !each.closest(".menu") && !each.matches(".skip"));
  return found.slice(1).filter((each, at) => {
    const [one, two] = [found[at].getBoundingClientRect(), each.getBoundingClientRect()];
    return each.tabIndex > 0 || (two.bottom <= one.top && two.left < one.right && !each.closest("aside"));
  }).map(told);
};

const landmarks = () => ({
  ...Object.fromEntries(["main", "header", "footer", "h1"].map((name) => [name, document.querySelectorAll(name === "footer" ? "body > footer" : name).length])),
  lang: document.documentElement.lang,
});

const parts = (color) => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  canvas.fillStyle = color;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const known = new Map();
const rgba = (color) => known.get(color) ?? known.set(color, parts(color)).get(color);
const light = (rgb) => {
  const [r, g, b] = rgb.map((value) => value / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (each) => {
  for (let at = each; at; at = at.parentElement) {
    const color = rgba(getComputedStyle(at).backgroundColor);
    if (color[3] === 255) return color.slice(0, 3);
  }
  return [255, 255, 255];
};
const contrast = (one, two) => {
  const [high, low] = [light(one), light(two)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
};
const faint = () => {
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const each = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !each.checkVisibility({ visibilityProperty: true }) || each.closest("script, title, .hidden")) continue;
    const style = getComputedStyle(each);
    const ratio = contrast(rgba(each.closest("svg") ? style.fill : style.color).slice(0, 3), ground(each));
    if (ratio < 4.5) found.add(`${told(each)}: ${ratio.toFixed(2)}`);
  }
  for (const each of document.querySelectorAll("input, textarea, select")) {
    if (!each.checkVisibility()) continue;
    for (const pseudo of [null, "::placeholder"]) {
      const ratio = contrast(rgba(getComputedStyle(each, pseudo).color).slice(0, 3), ground(each));
      if (ratio < 4.5) found.add(`${told(each)} ${pseudo}: ${ratio.toFixed(2)}`);
    }
  }
  return [...found];
};

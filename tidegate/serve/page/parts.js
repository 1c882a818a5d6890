// What views are made of: elements from text alone, so nothing that a tenant wrote becomes markup.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((one) => one !== null && one !== undefined && one !== ""));
  return made;
}

// Columns are [heading, what a row shows, class]; a row shows text or an element.
export function table(caption, columns, rows, nothing = "There is nothing to show.") {
  if (!rows.length) return element("p", { class: "quiet" }, nothing);
  const head = columns.map(([name, , kind]) => element("th", { scope: "col", class: typeof kind === "function" ? null : kind }, name));
  const body = rows.map((row) =>
    element("tr", {}, columns.map(([, show, kind]) => {
      const shown = show(row);
      return element("td", { class: typeof kind === "function" ? kind(row) : kind }, plain(shown));
    })),
  );
  const made = element("table", {}, element("caption", {}, caption),
    element("thead", {}, element("tr", {}, head)), element("tbody", {}, body));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, made);
}

export function plain(value) {
  if (value instanceof Node) return value;
  return value === null || value === undefined || value === "" ? "–" : String(value);
}

export function span(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  let left = Math.floor(seconds);
  const parts = [];
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]]) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count || (unit === "s" && !parts.length)) parts.push(`${count}${unit}`);
    else if (parts.length) break;
  }
  return parts.slice(0, 2).join("");
}

export function field(label, name, value, more = {}) {
  const id = `field-${name}`;
  return [element("label", { for: id }, label), element("input", { id, name, value, autocomplete: "off", ...more })];
}

export function choice(label, name, value, options) {
  const id = `field-${name}`;
  return [
    element("label", { for: id }, label),
    element("select", { id, name }, options.map((one) => element("option", { value: one, selected: one === value }, one || "all"))),
  ];
}

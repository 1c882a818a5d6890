// What views are made of: elements from text alone, so nothing that a tenant wrote becomes markup.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.flat(9).filter((one) => one !== null && one !== undefined && one !== ""));
  return made;
}

const SHOWN = 60;
// A word longer than this may be broken, or one name would push the other columns out of sight.
const LONG = /\S{25}/;

// Columns are [heading, what a row shows, class]; a row shows text or an element.
export function table(caption, columns, rows, nothing = "There is nothing to show.", rowClass = () => null) {
  if (!rows.length) return element("p", { class: "quiet" }, nothing);
  const head = columns.map(([name, , kind]) => element("th", { scope: "col", class: typeof kind === "function" ? null : kind }, name));
  const cell = (row, show, kind) => {
    const made = element("td", { class: typeof kind === "function" ? kind(row) : kind }, plain(show(row)));
    if (LONG.test(made.textContent)) made.classList.add("long");
    return made;
  };
  const line = (row) => element("tr", { class: rowClass(row) }, columns.map(([, show, kind]) => cell(row, show, kind)));
  const body = element("tbody", {}, rows.slice(0, SHOWN).map(line));
  const made = element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, head)), body);
  const region = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, made);
  const rest = rows.more ? element("p", { class: "quiet" }, `There are more than these ${rows.length}.`) : "";
  if (rows.length <= SHOWN) return rest ? element("div", {}, region, rest) : region;
  // Long tables begin with a part: rows that are not scrolled to are not drawn.
  const more = element("button", { type: "button", class: "more", onclick: () => {
    const byKeys = more.matches(":focus-visible");
    body.append(...rows.slice(SHOWN).map(line));
    if (byKeys) (body.rows[SHOWN].querySelector("a") ?? region).focus({ preventScroll: true }); // the button goes
    more.remove();
  } }, `Show all ${rows.length}`);
  return element("div", {}, region, element("p", {}, more), rest);
}

// A table that is narrowed as the user types, without another question to the server.
export function filtered(label, rows, texts, draw) {
  const place = element("div", {}, draw(rows));
  if (rows.length < 8) return place;
  const known = rows.map((row) => texts(row).join(" ").toLowerCase());
  const id = `filter-${label.replace(/\W+/g, "-")}`;
  const input = element("input", { id, type: "search", autocomplete: "off", oninput: () => {
    const wanted = input.value.toLowerCase();
    place.replaceChildren(draw(rows.filter((_, at) => known[at].includes(wanted))));
  } });
  return element("div", {}, element("p", {}, element("label", { for: id }, `${label} `), input), place);
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
    if (count || (unit === "s" && !parts.length)) parts.push(`${count} ${unit}`);
    else if (parts.length) break;
  }
  return parts.slice(0, 2).join(" ");
}

// When a workload might start: a range without an end where nothing tells that.
export function startRange(range) {
  if (!range.to) return `${clock(range.from)} UTC or later`;
  return range.to > range.from ? `${clock(range.from)} to ${clock(range.to, range.from)} UTC` : `${clock(range.from)} UTC`;
}

// A time as people read it: 14:05 of the same day, else with its date. All are UTC.
export function clock(text, beside = "") {
  if (!text) return "–";
  return text.slice(0, 10) === beside.slice(0, 10) ? text.slice(11, 16) : `${text.slice(0, 10)} ${text.slice(11, 16)}`;
}

// Memory is shown in Gi, as quotas are written; everything else in its own unit.
export function bytes(resource, units) {
  if (typeof units !== "number" || !/memory|storage/.test(resource)) return units;
  return `${Number((units / 2 ** 30).toFixed(2))}Gi`;
}

export function pill(text, kind = text) {
  return element("span", { class: `pill ${kind}` }, text);
}

export function facts(rows) {
  return element("dl", { class: "facts" }, rows.filter(Boolean).map(([name, value, more]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, plain(value), more ? element("small", {}, more) : ""))));
}

export function part(kind, share) {
  const made = element("span", { class: kind });
  made.style.width = `${Math.max(0, Math.min(100, share * 100))}%`;
  return made;
}

export const KEY = [["used", "used of its own"], ["lent", "lent to others"], ["free", "free"], ["borrowed", "borrowed"]];

export function key(rows = KEY) {
  return element("ul", { class: "key" }, rows.map(([kind, text]) => element("li", {}, element("i", { class: kind }), text)));
}

const SUFFIX = { m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50 };

export function amount(text) {
  const found = /^(-?[\d.]+)([a-zA-Z]*)$/.exec(text ?? "");
  return found ? Number(found[1]) * (SUFFIX[found[2]] ?? 1) : 0;
}

// The whole width is the quota, or what is used if that is more.
export function quotaBar(row) {
  if (row.quota === "unlimited") return "no limit";
  const [quota, used, lent] = [row.quota, row.used, row.lent].map(amount);
  const total = Math.max(quota, used) || 1;
  const own = Math.min(used, quota);
  return element("div", { class: "quota", "aria-hidden": "true" },
    part("used", own / total), part("lent", Math.min(lent, quota - own) / total),
    part("free", Math.max(0, quota - own - lent) / total), part("borrowed", Math.max(0, used - quota) / total));
}

export function link(now, changes, text) {
  const merged = { ...(now.asOf ? { asOf: now.asOf } : {}), ...changes };
  return element("a", { href: `?${new URLSearchParams(Object.entries(merged).filter(([, value]) => value))}` }, text);
}

// An event's name: its seq, where there are several partitions with its own.
export function eventName(partition, seq) {
  return partition == null ? String(seq) : `${partition}/${seq}`;
}

export function workload(now, name) {
  const [namespace, rest] = (name ?? "").split("/");
  return rest ? link(now, { view: "job", namespace, name: rest }, name) : plain(name);
}

export function field(label, name, value, more = {}) {
  const id = `field-${name}`;
  return [element("label", { for: id }, label), element("input", { id, name, value, autocomplete: "off", ...more })];
}

export function choice(label, name, value, options, none = "all") {
  const id = `field-${name}`;
  return [
    element("label", { for: id }, label),
    element("select", { id, name }, options.map((one) => element("option", { value: one, selected: one === value }, one || none))),
  ];
}

// A form whose fields become parts of the address.
export function asking(label, go, ...children) {
  const made = element("form", { "aria-label": label, onsubmit: (event) => {
    event.preventDefault();
    go(Object.fromEntries(new FormData(made)));
  } }, ...children);
  return made;
}

// A part of a view that is drawn when its answer is there; the rest is not held up.
export function later(promise, draw) {
  const place = element("div", { "aria-busy": "true" }, element("p", { class: "quiet" }, "Asking …"));
  promise.then(([answer, refused]) => {
    place.replaceChildren(...[answer === null ? element("p", { class: "quiet" }, refused) : draw(answer)].flat(9));
    place.removeAttribute("aria-busy");
  }).catch((error) => {
    place.replaceChildren(element("p", { class: "wrong", role: "alert" }, error.message));
    place.removeAttribute("aria-busy");
  });
  return place;
}

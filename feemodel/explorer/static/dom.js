/** Small helpers for the document. */

export const $ = (id) => document.getElementById(id);

/** Make an element; properties that it has are set, others become attributes. */
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Show a message, or hide the element if there is no message. */
export function say(node, text) {
  node.textContent = text;
  node.hidden = !text;
}

/**
 * Show rows of cells in a table. The first cell of each row is its header; a cell is text, an element or an array.
 * `head` may be null.
 */
export function fillTable(table, caption, head, rows) {
  const row = (cells, tag) => el("tr", {}, ...cells.map((cell, index) =>
    el(index ? tag : "th", index ? {} : { scope: tag === "th" ? "col" : "row" }, ...[cell].flat())));
  table.replaceChildren(
    el("caption", {}, caption),
    ...(head ? [el("thead", {}, row(head, "th"))] : []),
    el("tbody", {}, ...rows.map((cells) => row(cells, "td"))));
  return table;
}

export const table = (caption, head, rows, className = "") => fillTable(el("table", { className }), caption, head, rows);

export const scrolling = (label, ...children) =>
  el("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: label }, ...children);

export const details = (summary, ...children) => el("details", {}, el("summary", {}, summary), ...children);

export const fact = (name, value, more) =>
  el("div", {}, el("dt", {}, name), el("dd", {}, value, more ? el("small", {}, more) : null));

export const key = (part) => el("span", { className: `key part-${part}` });

let announcement = 0;

/** Tell a screen reader, once the controls have not been used for a moment. */
export function announce(text) {
  clearTimeout(announcement);
  announcement = setTimeout(() => { $("live").textContent = text; }, 700);
}

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

/** Show a message, or hide the element where there is none. */
export function say(id, text) {
  $(id).textContent = text;
  $(id).hidden = !text;
}

/** Mark an input as refused, or as accepted again. */
export function refuse(input, errorId, message) {
  say(errorId, message);
  if (message) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}

const cell = (tag, content, properties) => el(tag, properties, ...(Array.isArray(content) ? content : [content]));

/** A head and rows of cells, the first of each row its header, as the content of a table. */
export function tableContent(head, rows, { left = [] } = {}) {
  const align = (index) => (left.includes(index) ? { className: "text" } : {});
  const body = rows.map((cells) =>
    el("tr", {}, ...cells.map((content, index) =>
      index ? cell("td", content, align(index)) : cell("th", content, { scope: "row" }))));
  const heads = head?.map((text, index) => el("th", { scope: "col", ...align(index) }, text));
  return [heads ? el("thead", {}, el("tr", {}, ...heads)) : "", el("tbody", {}, ...body)];
}

export const captioned = (title, head, rows, options) =>
  el("table", options?.className ? { className: options.className } : {},
    el("caption", {}, title), ...tableContent(head, rows, options));

export const scrolling = (label, ...children) =>
  el("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": label }, ...children);

export const fact = (name, value, more) =>
  el("div", {}, el("dt", {}, name), el("dd", {}, value, more ? el("small", {}, more) : null));

export const key = (part, text) => el("li", {}, el("span", { className: `key part-${part}` }), text);

/** Fill a group of radio buttons, and return the function that shows the chosen value. */
export function radios(id, options, onChoice) {
  for (const [value, text] of Object.entries(options)) {
    const input = el("input", { type: "radio", name: id, value });
    input.addEventListener("input", () => onChoice(value));
    $(id).append(el("label", {}, input, el("span", {}, text)));
  }
  return (chosen) => {
    for (const input of $(id).querySelectorAll("input")) input.checked = input.value === chosen;
  };
}

let announceTimer = 0;

/** Tell a screen reader, once the controls have rested for a while [ms]. */
export function announce(text, wait = 0) {
  clearTimeout(announceTimer);
  announceTimer = setTimeout(() => { $("live").textContent = text; }, wait);
}

let noteTimer = 0;

/** Show a short message beside the page's buttons for eight seconds. */
export function note(text) {
  $("note").textContent = text;
  clearTimeout(noteTimer);
  if (text) noteTimer = setTimeout(() => { $("note").textContent = ""; }, 8000);
}

/** Call back once, when an element comes into sight. */
export function whenSeen(id, act) {
  const watch = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watch.disconnect();
    act();
  }, { rootMargin: "200px" });
  watch.observe($(id));
}

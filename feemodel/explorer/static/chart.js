/** Charts of panels above each other, with a slider that moves along them, their numbers and a table. */

import { el, scrolling, tableContent } from "./dom.js";
import { tickText } from "./numbers.js";
import uPlot from "./uplot/uPlot.esm.js";

const SMALL = 480; // pixels of a narrow chart
const AXIS = 50; // pixels below the last panel
const charts = new Set();

const probe = el("span", { hidden: true });
document.body.append(probe);

/** A color of the style sheet, mixed with that of the surface, as a canvas takes it. */
export function color(name, percent = 100) {
  probe.style.color = `color-mix(in srgb, var(--${name}) ${percent}%, var(--surface))`;
  return getComputedStyle(probe).color;
}

/** The lowest and the highest of some numbers with room around them. */
export function padded(values) {
  const low = Math.min(...values), high = Math.max(...values), room = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - room, high + room];
}

export function logRange(values) {
  const low = Math.min(...values), high = Math.max(...values), room = Math.max(1.08, (high / low) ** 0.06);
  return [low / room, high * room];
}

/** Ticks of a log axis, so many pixels apart; those of uPlot need an axis that begins at a power of ten. */
function logTicks(low, high, pixels, space) {
  const decade = pixels / Math.log10(high / low);
  const factors = decade * Math.log10(7 / 5) > space ? [1, 2, 3, 5, 7] : decade * Math.log10(2) > space ? [1, 2, 5] : [1];
  const step = Math.ceil(space / decade), ticks = [];
  for (let power = Math.floor(Math.log10(low) / step) * step; 10 ** power <= high; power += step) {
    ticks.push(...factors.map((factor) => factor * 10 ** power));
  }
  return ticks.filter((tick) => tick >= low * 0.9999 && tick <= high * 1.0001);
}

/** Whether numbers are so far apart that only a log scale shows all of them. */
export const isWide = (values) => {
  const positive = values.filter((value) => value > 0);
  return Math.max(1, ...positive) / Math.min(1, ...positive) > 12;
};

/**
 * A chart below the element of an id.
 *
 * `label` describes it, `pointLabel` names its slider; `cells(index)` are the numbers at a point, `{ name, value, more }`;
 * `rows()` are the indexes of the points that its table has.
 */
export class Chart {
  constructor(id, { label, pointLabel, cells, rows }) {
    Object.assign(this, { id, cells, rows, plots: [], spec: null, index: null });
    this.panels = el("div", { className: "panels", role: "img", "aria-label": label });
    this.slider = el("input", { type: "range", id: `${id}-point`, min: "0", step: "1" });
    this.readout = el("dl", { className: "facts readout", id: `${id}-readout` });
    this.table = el("table", { id: `${id}-table` });
    this.details = el("details", { id: `${id}-numbers` }, el("summary", {}, "As a table"), scrolling(`${label}, as a table`, this.table));
    const along = el("div", { className: "along-chart" }, el("label", { htmlFor: `${id}-point` }, pointLabel), this.slider);
    document.getElementById(id).replaceChildren(this.panels, along, this.readout, this.details);
    this.slider.addEventListener("input", () => this.move(Number(this.slider.value)));
    this.details.addEventListener("toggle", () => this.#fillTable());
    new ResizeObserver(() => this.redraw()).observe(this.panels);
    charts.add(this);
  }

  /**
   * Draw `{ x, scale, label, panels, here, index }`: positions, "linear", "log" or "time" [s], the title of the axis,
   * panels, a position that is marked, and the point to show, the last unless given or moved to before. A panel is `{ title, height, lines, log, range, x }`, a line `{ values, color, width,
   * dash, fill, bars }`.
   */
  draw(spec) {
    const last = spec.x.length - 1;
    Object.assign(this, { spec, index: Math.min(spec.index ?? this.index ?? last, last) });
    this.slider.max = String(last);
    this.redraw();
    this.move(this.index);
    this.#fillTable();
  }

  /** Draw again: at another size, in other colors. */
  redraw() {
    if (!this.spec || !this.panels.clientWidth) return;
    for (const plot of this.plots.splice(0)) plot.destroy();
    this.plots = this.spec.panels.map((panel, index) => this.#plot(panel, index));
  }

  /** Show the numbers at a point. */
  move(index) {
    this.index = index;
    this.slider.value = String(index);
    const cells = this.cells(index);
    this.slider.setAttribute("aria-valuetext", cells.map(({ name, value }) => `${name} ${value}`).join(", "));
    this.readout.replaceChildren(...cells.map(({ name, value, more }) =>
      el("div", {}, el("dt", {}, name), el("dd", {}, value, more ? el("small", {}, more) : null))));
    this.#point();
  }

  /** The pointer moved to a point; null: it left, and the cursor goes back to the slider's. */
  #pointedAt(index) {
    if (typeof index === "number" && index !== this.index) this.move(index);
    else this.#point();
  }

  #point() {
    for (const plot of this.plots) {
      if (!plot.status) continue; // not laid out yet
      const left = plot.valToPos(this.spec.x[this.index], "x");
      if (Math.abs(plot.cursor.left - left) > 0.5) plot.setCursor({ left, top: 0 }, false, false);
    }
  }

  #fillTable() {
    if (!this.details.open || !this.spec) return;
    const rows = this.rows().map((index) => this.cells(index));
    this.table.replaceChildren(...tableContent(rows[0].map(({ name }) => name), rows.map((cells) => cells.map(({ value }) => value))));
  }

  #plot({ title, height, lines, log = false, range, x = this.spec.x }, index) {
    const { scale, here } = this.spec, isFirst = index === 0, isLast = index === this.spec.panels.length - 1;
    const width = this.panels.clientWidth, isSmall = width < SMALL;
    const columns = lines.map(({ values }) => (log ? values.map((value) => (value > 0 ? value : null)) : values));
    const all = columns.flat().filter((value) => value !== null);
    const ends = range ?? (log ? logRange(all) : [0, Math.max(1e-9, ...all) * 1.06]);
    const text = { stroke: color("faint"), font: `12px ${getComputedStyle(document.body).fontFamily}` };
    const ticks = (_, splits) => splits.map((tick) => (tick === null ? "" : tickText(tick)));
    const logAxis = (pixels, space) => ({ splits: (_, axis, from, to) => logTicks(from, to, pixels, space), filter: (_, splits) => splits });
    const days = (_, splits) => splits.map((seconds) => new Date(seconds * 1000).toISOString().slice(5, 10));
    return new uPlot({
      title, width, height: height + (isLast ? AXIS : 0), legend: { show: false }, padding: [8, 14, isLast ? 0 : 8, 0],
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      scales: {
        x: { time: scale === "time", distr: scale === "log" ? 3 : 1, range: () => [this.spec.x[0], this.spec.x.at(-1)] },
        y: { distr: log ? 3 : 1, range: () => ends },
      },
      axes: [
        { ...text, show: isLast, label: this.spec.label, labelFont: text.font, labelSize: 20, size: 30, space: isSmall ? 60 : 80,
          ...(scale === "log" ? logAxis(width, isSmall ? 60 : 80) : {}), grid: { show: false }, ticks: { stroke: color("strong-line"), size: 4 }, border: { show: true, stroke: color("strong-line") },
          values: scale === "time" ? days : ticks },
        { ...text, size: isSmall ? 50 : 62, gap: 6, space: 30, ...(log ? logAxis(height, 26) : {}),
          ticks: { show: false }, values: ticks, grid: { stroke: color("line"), width: 1 } },
      ],
      series: [{}, ...lines.map(({ color: stroke, width: thickness = 1.75, dash, fill, bars }) => ({
        stroke, width: thickness, dash, fill, points: { show: false }, pxAlign: 0, paths: bars && uPlot.paths.bars({ size: [0.9] }),
      }))],
      cursor: { y: false, drag: { x: false, y: false }, sync: { key: this.id }, points: { show: false } },
      hooks: {
        ready: [() => this.#point()],
        draw: here === undefined ? [] : [(plot) => markPosition(plot, here)],
        setCursor: isFirst ? [({ cursor: { idx } }) => this.#pointedAt(idx)] : [],
      },
    }, [x, ...columns], this.panels);
  }
}

function markPosition({ ctx, bbox, valToPos, scales }, value) {
  if (value < scales.x.min || value > scales.x.max) return;
  const at = Math.round(valToPos(value, "x", true)) + 0.5;
  ctx.save();
  ctx.strokeStyle = color("soft");
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(at, bbox.top);
  ctx.lineTo(at, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

/** Draw every chart in the colors of now. */
export function redrawCharts() {
  for (const chart of charts) chart.redraw();
}

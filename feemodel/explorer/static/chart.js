/** Charts of panels above each other, with a slider that moves along them, their numbers, and a table. */

import { $, el, fact, fillTable, key } from "./dom.js";
import { digits, tickText } from "./numbers.js";
import uPlot from "./uplot/uPlot.esm.js";

const SMALL = 480; // pixels of a narrow chart
const AXIS = 50; // pixels below the last panel
const TABLE_ROWS = 31;
let chart; // the only one

/** A color of the style sheet, mixed with that of the surface, as a canvas takes it. */
function color(name, percent = 100) {
  const probe = document.body.appendChild(el("span"));
  probe.style.color = `color-mix(in srgb, var(--${name}) ${percent}%, var(--surface))`;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

function range(values, isLog) {
  const low = Math.min(...values), high = Math.max(...values);
  if (isLog) return [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))]; // as the ticks of uPlot need it
  const room = (high - low || high || 1) * 0.06;
  return [low < 0 ? low - room : 0, Math.max(high + room, low < 0 ? room : 1e-9)];
}

/** The numbers of a chart: a column for the x axis, and one for each line that has a name. */
function columnsOf({ x, xName, xUnit, xText, panels }) {
  const lines = panels.flatMap(({ unit, lines: inPanel }) => inPanel.filter(({ name }) => name).map((line) => ({ unit, ...line })));
  return [
    { name: xName, unit: xUnit, values: x, text: xText },
    ...lines.map(({ name, unit, numbers, values, key: part }) =>
      ({ name, unit, values: numbers ?? values, key: part, text: (value) => (value === null ? "–" : `${digits(value)} ${unit}`) })),
  ];
}

class Chart {
  constructor(node) {
    const { label, point } = node.dataset;
    node.replaceChildren($("chart").content.cloneNode(true));
    [this.panels, this.slider, this.readout, this.details] = node.children;
    this.plots = [];
    this.id = node.id;
    this.panels.ariaLabel = label;
    this.slider.ariaLabel = point;
    this.details.querySelector(".scroll").ariaLabel = `${label}, as a table`;
    this.slider.addEventListener("input", (event) => {
      event.stopPropagation(); // it is no input of the page
      this.move(this.slider.valueAsNumber);
    });
    this.details.addEventListener("toggle", () => this.fillTable());
    new ResizeObserver(() => this.redraw()).observe(this.panels);
  }

  draw(spec) {
    this.spec = spec;
    this.columns = columnsOf(spec);
    this.slider.max = spec.x.length - 1;
    this.redraw();
    this.move(Math.min(spec.index ?? this.index ?? spec.x.length, spec.x.length - 1));
    this.fillTable();
  }

  /** Draw again: at another size, in other colors. */
  redraw() {
    if (!this.spec || !this.panels.clientWidth) return;
    for (const plot of this.plots.splice(0)) plot.destroy();
    this.plots = this.spec.panels.map((panel, index) => this.plot(panel, index));
  }

  /** Show the numbers at a point. */
  move(index) {
    this.index = index;
    this.slider.value = index;
    const texts = this.columns.map(({ values, text }) => text(values[index]));
    this.slider.setAttribute("aria-valuetext", this.columns.map(({ name }, column) => `${name} ${texts[column]}`).join(", "));
    this.readout.replaceChildren(...this.columns.map(({ name, key: part }, column) =>
      fact(part ? el("span", {}, key(part), name) : name, texts[column])));
    this.moveCursor();
  }

  moveCursor() {
    for (const plot of this.plots.filter(({ status }) => status)) {
      plot.setCursor({ left: plot.valToPos(this.spec.x[this.index], "x"), top: 0 }, false, false);
    }
  }

  fillTable() {
    if (!this.details.open || !this.spec) return;
    const step = Math.ceil(this.spec.x.length / TABLE_ROWS);
    const rows = this.spec.x.map((_, index) => this.columns.map(({ values, text }) => text(values[index])));
    fillTable(this.details.querySelector("table"), this.panels.ariaLabel, this.columns.map(({ name }) => name),
      rows.filter((_, index) => index % step === 0 || index === rows.length - 1));
  }

  plot({ title, unit, height, lines, log = false }, index) {
    const { x, scale, xTitle } = this.spec, isFirst = index === 0, isLast = index === this.spec.panels.length - 1;
    const width = this.panels.clientWidth, isSmall = width < SMALL;
    const columns = lines.map(({ values }) => (log ? values.map((value) => (value > 0 ? value : null)) : values));
    const ends = range(columns.flat().filter((value) => value !== null), log);
    const text = { stroke: color("faint"), font: `12px ${getComputedStyle(document.body).fontFamily}` };
    const ticks = (_, splits) => splits.map((tick) => (tick === null ? "" : tickText(tick)));
    return new uPlot({
      title: `${title} [${unit}]${log ? ", log" : ""}`, width, height: height + (isLast ? AXIS : 0),
      legend: { show: false }, padding: [8, 14, isLast ? 0 : 8, 0],
      scales: {
        x: { time: false, distr: scale === "log" ? 3 : 1, range: () => [x[0], x.at(-1)] },
        y: { distr: log ? 3 : 1, range: () => ends },
      },
      axes: [
        { ...text, show: isLast, label: xTitle, labelFont: text.font, labelSize: 20, size: 30, space: isSmall ? 60 : 80, values: ticks,
          grid: { show: false }, ticks: { stroke: color("strong-line"), size: 4 }, border: { show: true, stroke: color("strong-line") } },
        { ...text, size: isSmall ? 50 : 62, gap: 6, space: 30,
          ticks: { show: false }, values: ticks, grid: { stroke: color("line"), width: 1 } },
      ],
      series: [{}, ...lines.map(({ key: part, width: thickness = 1.75, fill, dash }) => ({
        stroke: color(part), width: thickness, dash, fill: fill && color(part, fill), points: { show: false }, pxAlign: 0,
      }))],
      cursor: { y: false, drag: { x: false, y: false }, sync: { key: this.id }, points: { show: false } },
      hooks: {
        ready: [() => this.moveCursor()],
        setCursor: isFirst ? [({ cursor: { idx } }) => typeof idx === "number" && idx !== this.index && this.move(idx)] : [],
      },
    }, [x, ...columns], this.panels);
  }
}

/**
 * Draw a chart below an element.
 *
 * `{ x, xName, xUnit, xText, xTitle, scale, panels, index }`: positions, their name, unit and text, the title of the axis,
 * "linear" or "log", panels, and the point to show first. A panel is
 * `{ title, unit, height, lines, log }`. A line is `{ name, values, numbers, key, width, fill, dash }`: lines with a
 * name are shown as numbers too, `numbers` in place of `values`; `key` names a color, `fill` is a percentage.
 */
export function drawChart(node, spec) {
  chart ??= new Chart(node);
  chart.draw(spec);
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chart?.redraw());

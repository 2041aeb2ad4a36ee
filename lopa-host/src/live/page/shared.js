// The shared variable: values beside their names, a curve, or pictures.

import { Chart, make, number, shape } from "./chart.js";
import { gradient } from "./network.js";

/** More values than these have no names beside them. */
const MOST_NAMED = 40;
const ROW = 19;

const RISING = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const SIGNED = [[33, 102, 172], [146, 197, 222], [247, 247, 247], [244, 165, 130], [178, 24, 43]];

function colour(stops, share) {
  const at = Math.min(Math.max(share, 0), 1) * 4;
  const first = Math.min(Math.floor(at), 3);
  return stops[first].map((from, part) => Math.round(from + (at - first) * (stops[first + 1][part] - from)));
}

/** From dark to light, as a colour of the page. */
export function rising(share) {
  return `rgb(${colour(RISING, share).join(",")})`;
}

export class Shared {
  constructor(place) {
    this.place = place;
    new ResizeObserver(() => this.draw()).observe(place);
  }

  /** Another variable. */
  build(shape) {
    this.shape = shape;
    this.now = null;
    this.chart = null;
    this.panels = null;
    this.place.replaceChildren();
  }

  set(now) {
    this.now = now;
    this.draw();
  }

  draw() {
    if (!this.shape || !this.now) return;
    if (this.shape.stride > 0) return this.pictures();
    if (this.now.mean.length > MOST_NAMED) return this.curve();
    this.levels();
  }

  name(at) {
    return this.shape.names[at] ?? `x ${at}`;
  }

  /** A dot per value, and a line for the range over nodes. */
  levels() {
    const width = this.place.clientWidth;
    const { mean, low, high } = this.now;
    if (!(width > 80)) return;
    const ends = [Math.min(...(low ?? mean)), Math.max(...(high ?? mean))];
    if (this.shape.signed) [ends[0], ends[1]] = [Math.min(ends[0], 0), Math.max(ends[1], 0)];
    // Values that are all the same are in the middle.
    if (ends[0] === ends[1]) [ends[0], ends[1]] = [ends[0] - 1, ends[1] + 1];
    const room = ends[1] - ends[0];
    const longest = Math.max(...mean.map((_, at) => this.name(at).length));
    const left = Math.min(longest * 6.7 + 14, width * 0.4);
    const right = 64;
    const x = (value) => left + ((value - ends[0]) / room) * (width - left - right - 12) + 6;
    const svg = shape("svg", { class: "level", role: "img", viewBox: `0 0 ${width} ${ROW * mean.length + 4}` });
    svg.setAttribute("height", ROW * mean.length + 4);
    svg.setAttribute("aria-label", `${this.shape.title}: ${mean.map((value, at) => `${this.name(at)} ${number(value)}`).join(", ")}`);
    if (this.shape.signed) shape("path", { class: "zero", d: `M${x(0).toFixed(1)} 0V${ROW * mean.length}` }, svg);
    const fit = Math.floor((left - 12) / 6.4);
    mean.forEach((value, at) => {
      const y = ROW * at + ROW / 2;
      const name = this.name(at);
      const text = shape("text", { x: 0, y: y + 4 }, svg);
      text.textContent = name.length > fit ? `${name.slice(0, fit - 1)}…` : name;
      if (name.length > fit) shape("title", {}, text).textContent = name;
      if (low) shape("path", { class: "range", d: `M${x(low[at]).toFixed(1)} ${y}H${x(high[at]).toFixed(1)}` }, svg);
      shape("circle", { class: "value", cx: x(value).toFixed(1), cy: y, r: 3.6 }, svg);
      const digits = shape("text", { class: "number", x: width, y: y + 4, "text-anchor": "end" }, svg);
      digits.textContent = value.toFixed(3).replace("-", "\u2212");
    });
    this.place.replaceChildren(svg);
  }

  /** All values in a chart. */
  curve() {
    if (!this.chart) {
      this.chart = new Chart(null, "feature");
      this.place.replaceChildren(this.chart.element);
    }
    const { mean, low, high } = this.now;
    const band = low?.map((value, at) => [at, value, high[at]]);
    this.chart.set([{ title: this.shape.title, points: mean.map((value, at) => [at, value]), band }], false);
  }

  /** One picture per panel, all in the same colours. */
  pictures() {
    const { stride, width, panel, signed } = this.shape;
    const { mean } = this.now;
    const count = Math.floor(mean.length / stride);
    const colours = count === 3 && stride === panel ? ["red", "green", "blue"] : [];
    if (this.panels?.length !== count) {
      const figures = Array.from({ length: count }, (_, at) => {
        const canvas = make("canvas", { width, height: Math.max(1, Math.floor(panel / width)), role: "img" });
        const name = colours[at] ?? (count > 1 ? `unit ${at}` : "");
        canvas.setAttribute("aria-label", `${this.shape.title} ${name}`);
        return make("figure", {}, canvas, ...(name ? [make("figcaption", {}, name)] : []));
      });
      this.panels = figures.map((figure) => figure.querySelector("canvas"));
      this.scale = make("p", { class: "scale" });
      this.place.replaceChildren(make("div", { class: "panels" }, ...figures), this.scale);
    }
    const across = count > 8 ? 5 : count > 1 ? Math.min(count, 3) : 1;
    const room = Math.min((this.place.clientWidth - 10 * (across - 1)) / across, count > 1 ? 200 : 300);
    const drawn = [];
    for (let at = 0; at < count; at++) for (let k = 0; k < panel; k++) drawn.push(mean[at * stride + k]);
    let [low, high] = drawn.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
    if (signed) [low, high] = [-Math.max(-low, high) || -1, Math.max(-low, high) || 1];
    const stops = signed ? SIGNED : RISING;
    this.panels.forEach((canvas, at) => {
      canvas.style.width = `${Math.max(room, 24).toFixed(0)}px`;
      if (panel / width < width / 4) canvas.style.height = `${Math.max(8, Math.min(18, 240 / (panel / width))) * (panel / width)}px`;
      const pen = canvas.getContext("2d");
      const image = pen.createImageData(canvas.width, canvas.height);
      for (let k = 0; k < canvas.width * canvas.height; k++) {
        const value = mean[at * stride + k];
        image.data.set([...colour(stops, high > low ? (value - low) / (high - low) : 0.5), 255], 4 * k);
      }
      pen.putImageData(image, 0, 0);
    });
    this.scale.replaceChildren(number(low), gradient((share) => `rgb(${colour(stops, share).join(",")})`), number(high), ` ${this.shape.title}`);
  }
}

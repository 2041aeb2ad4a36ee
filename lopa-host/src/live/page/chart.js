// Line charts: small, with a cursor for pointers and arrow keys. Thousands of points are thinned by the caller.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 190;
const LEFT = 52, RIGHT = 10, TOP = 8, BOTTOM = 24;

/** An element of a picture. */
export function shape(name, attributes = {}, parent = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent) parent.append(made);
  return made;
}

/** An element of the page. */
export function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A number for people. */
export function number(value) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en-GB");
  const size = Math.abs(value);
  const text = size < 1e-3 || size >= 1e6 ? value.toExponential(3) : value.toPrecision(4);
  return text.replace("-", "\u2212").replace(/e\+?(\u2212|-)?/, (_, sign) => `e${sign ? "\u2212" : ""}`);
}

/** A few round numbers between two ends. */
function ticks(low, high) {
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((a) => a * power).find((a) => a >= rough) ?? rough;
  const all = [];
  for (let at = Math.ceil(low / step) * step; at <= high + 1e-9 * step; at += step)
    all.push(Math.abs(at) < 1e-9 * step ? 0 : at);
  return all;
}

function short(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${+(value / 1e9).toPrecision(3)} G`;
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)} M`;
  if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)} k`;
  if (size > 0 && size < 1e-3) return (+value.toPrecision(2)).toExponential().replace("-", "\u2212");
  return String(+value.toPrecision(4)).replace("-", "\u2212");
}

export class Chart {
  /** `along` is what the horizontal axis counts. */
  constructor(title, along = "round") {
    this.along = along;
    this.svg = shape("svg", { role: "img", tabindex: "0", height: HEIGHT });
    this.title = shape("title", {}, this.svg);
    this.readout = make("p", { class: "readout", "aria-live": "off" });
    this.keys = make("p", { class: "keys" });
    const heading = title ? [make("div", { class: "bar" }, make("h3", {}, title), this.keys)] : [];
    this.element = make("figure", { class: title ? "card chart" : "chart" }, ...heading, this.svg, this.readout);
    this.element.style.margin = "0";
    this.name = title;
    this.series = [];
    this.logarithmic = false;
    this.cursor = null;
    new ResizeObserver(() => this.draw()).observe(this.element);
    const at = (event) => this.point(event.clientX - this.svg.getBoundingClientRect().left);
    this.svg.addEventListener("pointermove", at);
    this.svg.addEventListener("pointerdown", at);
    this.svg.addEventListener("pointerleave", () => this.show(null));
    this.svg.addEventListener("blur", () => this.show(null));
    this.svg.addEventListener("keydown", (event) => this.key(event));
  }

  /** Shows series: each has a title, points [x, y] and perhaps a band of [x, low, high]. */
  set(series, logarithmic) {
    this.series = series;
    this.logarithmic = logarithmic && series.every((one) => one.points.every(([, y]) => y >= 0));
    const titles = series.map((one) => one.title).join("\n");
    if (titles !== this.titles) {
      this.titles = titles;
      const key = (one, place) => make("span", {}, make("i", { class: `s${place}` }), one.title);
      this.keys.replaceChildren(...(series.length > 1 ? series.map(key) : []));
    }
    this.draw();
  }

  ends() {
    const all = this.series.flatMap((one) => one.points);
    const ys = all.map(([, y]) => y).filter((y) => !this.logarithmic || y > 0);
    for (const one of this.series) for (const [, low, high] of one.band ?? []) ys.push(low, high);
    if (ys.length === 0) return null;
    let [low, high] = [Math.min(...ys), Math.max(...ys)];
    if (this.logarithmic) {
      [low, high] = [Math.log10(low), Math.log10(high)];
      if (high - low < 0.3) [low, high] = [low - 0.15, high + 0.15];
    } else if (high - low <= 1e-9 * Math.max(1, Math.abs(high))) {
      const room = Math.abs(high) * 0.1 || 1;
      [low, high] = [low - room, high + room];
    }
    const xs = all.map(([x]) => x);
    const [left, right] = [Math.min(...xs), Math.max(...xs)];
    return { low, high, left, right: right > left ? right : left + 1 };
  }

  draw() {
    const width = this.element.clientWidth - parseFloat(getComputedStyle(this.element).paddingLeft) * 2;
    const ends = this.ends();
    if (!(width > 80) || !ends) return;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const { low, high, left, right } = ends;
    const x = (at) => LEFT + ((at - left) / (right - left)) * (width - LEFT - RIGHT);
    const scaled = (value) => (this.logarithmic ? Math.log10(Math.max(value, 1e-300)) : value);
    const y = (value) => {
      const share = (Math.max(scaled(value), low) - low) / (high - low);
      return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
    };
    this.x = x;
    this.y = y;
    const parts = [this.title];
    const add = (name, attributes, text) => {
      const made = shape(name, attributes);
      if (text !== undefined) made.textContent = text;
      parts.push(made);
    };
    const marks = this.logarithmic ? decades(low, high) : ticks(low, high).map((at) => [at, short(at)]);
    for (const [at, text] of marks) {
      const place = TOP + (1 - (at - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
      add("path", { class: "axis", d: `M${LEFT} ${place.toFixed(1)}H${width - RIGHT}` });
      add("text", { x: LEFT - 7, y: place + 4, "text-anchor": "end" }, text);
    }
    const across = ticks(left, right).filter((at) => Number.isInteger(at));
    const every = Math.ceil((across.length * 64) / (width - LEFT));
    across.forEach((at, place) => {
      const last = x(at) > width - 24;
      if (place % every === 0)
        add("text", { x: last ? width : x(at), y: HEIGHT - 6, "text-anchor": last ? "end" : "middle" }, short(at));
    });
    this.series.forEach((one, place) => {
      if (one.band) {
        const up = one.band.map(([at, , top]) => `${x(at).toFixed(1)} ${y(top).toFixed(1)}`);
        const down = one.band.map(([at, bottom]) => `${x(at).toFixed(1)} ${y(bottom).toFixed(1)}`).reverse();
        add("path", { class: "band", d: `M${[...up, ...down].join("L")}Z` });
      }
      const line = one.points.map(([at, value]) => `${x(at).toFixed(1)} ${y(value).toFixed(1)}`);
      if (line.length > 1) add("path", { class: `trace s${place}`, d: `M${line.join("L")}` });
      const last = one.points.at(-1);
      if (last && !one.band) add("circle", { class: `dot s${place}`, cx: x(last[0]), cy: y(last[1]), r: 3 });
    });
    this.line = shape("path", { class: "cursor", d: "" });
    parts.push(this.line);
    const words = this.series.map((one) => `${one.title} ${number(one.points.at(-1)?.[1])}`);
    const last = this.series[0]?.points.at(-1)?.[0];
    this.title.textContent = "";
    this.svg.setAttribute("aria-label", `${this.name ?? "Values"}, ${this.along} ${number(last)}: ${words.join(", ")}`);
    this.svg.replaceChildren(...parts);
    this.show(this.cursor);
  }

  /** All places of the horizontal axis that have a point. */
  places() {
    return [...new Set(this.series.flatMap((one) => one.points.map(([x]) => x)))].sort((a, b) => a - b);
  }

  point(pixel) {
    if (!this.x) return;
    let best = null;
    for (const at of this.places())
      if (best === null || Math.abs(this.x(at) - pixel) < Math.abs(this.x(best) - pixel)) best = at;
    this.show(best);
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Escape") this.show(null);
    if (step === undefined) return;
    event.preventDefault();
    const places = this.places();
    const now = this.cursor === null ? places.length - 1 : places.indexOf(this.cursor);
    this.show(places[Math.min(places.length - 1, Math.max(0, now + step))] ?? null);
    this.readout.setAttribute("aria-live", "polite");
  }

  /** Shows the values at a place; at the end if there is none. */
  show(at) {
    this.cursor = at;
    if (!this.line) return;
    const shown = at ?? this.places().at(-1);
    this.line.setAttribute("d", at === null ? "" : `M${this.x(at).toFixed(1)} ${TOP}V${HEIGHT - BOTTOM}`);
    const value = (one) => one.points.find(([x]) => x === shown)?.[1];
    const words = this.series.map((one) => `${one.title} ${number(value(one))}`);
    this.readout.textContent = shown === undefined ? "" : `${this.along} ${number(shown)}: ${words.join(", ")}`;
  }
}

/** Marks of a logarithmic axis, and what is written beside them: powers of ten, or what lies between them. */
function decades(low, high) {
  const all = [];
  if (high - low < 2) {
    const parts = high - low < 0.7 ? [1, 1.5, 2, 3, 4, 5, 6, 8] : [1, 2, 5];
    for (let power = Math.floor(low); power <= high; power += 1)
      for (const part of parts) {
        const at = power + Math.log10(part);
        if (at >= low && at <= high) all.push([at, short(part * 10 ** power)]);
      }
    return all;
  }
  const every = Math.ceil((high - low) / 5);
  for (let at = Math.ceil(low); at <= high; at += 1)
    if (at % every === 0) all.push([at, at >= -3 && at <= 3 ? short(10 ** at) : `1e${String(at).replace("-", "\u2212")}`]);
  return all;
}

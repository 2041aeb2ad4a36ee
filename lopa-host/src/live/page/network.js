// The network: nodes in the colour of their state, or of a value; links in the colour of their losses.

import { make, number, shape } from "./chart.js";
import { rising } from "./shared.js";

export const STATES = ["learning", "waiting", "paused", "done", "refused", "dead", "diverged", "elsewhere"];
const HEIGHT = 400;

/** The colours of losses: from 0.1 % to 10 % and more. */
const LOSSES = [[0, 158, 115], [230, 159, 0], [213, 94, 0]];

function mixed(stops, share) {
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const first = Math.min(Math.floor(at), stops.length - 2);
  return stops[first].map((from, part) => Math.round(from + (at - first) * (stops[first + 1][part] - from)));
}

function lossColour(lost) {
  if (lost === null || lost === undefined) return null;
  const share = lost <= 0 ? 0 : (Math.log10(lost) + 3) / 2;
  return `rgb(${mixed(LOSSES, share).join(",")})`;
}

/** Whether dark letters are easier to read on a colour. */
function isLight(colour) {
  const parts = colour.match(/[\d.]+/g).map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2] > 0.22;
}

export class Network {
  /** `choose` is called with the number of a node, or null. */
  constructor(place, legend, choose) {
    this.place = place;
    this.legend = legend;
    this.choose = choose;
    this.chosen = null;
    this.focus = 0;
    this.mode = "state";
    new ResizeObserver(() => this.layout()).observe(place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.update());
  }

  /** Another network. */
  build(about) {
    this.about = about;
    this.nodes = [];
    this.links = [];
    this.svg = shape("svg", { role: "group", "aria-label": "Nodes of the network" });
    for (const [a, b] of about.links) {
      const link = shape("path", { class: "link" }, this.svg);
      this.links.push({ a, b, link, title: shape("title", {}, link) });
    }
    about.places.forEach((_, number) => {
      const group = shape("g", { class: "node", role: "button", tabindex: number === 0 ? "0" : "-1", "data-node": number }, this.svg);
      const title = shape("title", {}, group);
      const parts = {};
      for (const name of ["halo", "track", "ring", "body"]) parts[name] = shape("circle", { class: name }, group);
      parts.ring.setAttribute("pathLength", "100");
      parts.ring.setAttribute("transform", "rotate(-90)");
      parts.text = shape("text", {}, group);
      parts.text.textContent = String(number);
      group.addEventListener("click", () => this.pick(number));
      group.addEventListener("focus", () => this.move(number, false));
      group.addEventListener("keydown", (event) => this.key(event, number));
      this.nodes.push({ group, title, ...parts });
    });
    this.place.replaceChildren(this.svg);
    this.layout();
  }

  /** Puts everything where it belongs in the width there is. */
  layout() {
    const width = this.place.clientWidth;
    if (!this.about || this.nodes.length === 0 || !(width > 40)) return;
    const side = (axis) => {
      const all = this.about.places.map((place) => place[axis]);
      return [Math.min(...all), Math.max(...all)];
    };
    const [[left, right], [top, bottom]] = [side(0), side(1)];
    const margin = 30;
    const scale = Math.min((width - 2 * margin) / (right - left || 1), (HEIGHT - 2 * margin) / (bottom - top || 1), 130);
    const height = Math.max(scale * (bottom - top) + 2 * margin, 90);
    const offset = [(width - scale * (right - left)) / 2, (height - scale * (bottom - top)) / 2];
    this.places = this.about.places.map(([x, y]) => [offset[0] + scale * (x - left), offset[1] + scale * (y - top)]);
    this.radius = Math.min(Math.max(0.3 * scale, 2.5), 17);
    const radius = this.radius;
    this.svg.setAttribute("viewBox", `0 0 ${width.toFixed(0)} ${height.toFixed(0)}`);
    this.svg.setAttribute("height", height.toFixed(0));
    const roomy = radius >= 8;
    const rim = roomy ? Math.max(2, radius * 0.2) : 0;
    this.nodes.forEach(({ group, halo, track, ring, body, text }, number) => {
      const [x, y] = this.places[number];
      group.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
      halo.setAttribute("r", radius + 3.5);
      track.setAttribute("r", radius);
      ring.setAttribute("r", radius - rim / 2);
      ring.setAttribute("stroke-width", rim);
      body.setAttribute("r", roomy ? radius - rim - 1 : radius);
      track.style.display = ring.style.display = text.style.display = roomy ? "" : "none";
      const digits = String(number).length;
      text.style.fontSize = `${(radius * (digits < 3 ? 0.85 : 0.62)).toFixed(1)}px`;
      text.setAttribute("y", (radius * (digits < 3 ? 0.3 : 0.22)).toFixed(1));
    });
    for (const { a, b, link } of this.links) {
      link.setAttribute("d", this.path(a, b));
      link.setAttribute("stroke-width", Math.min(Math.max(radius * 0.22, 1), 3.5).toFixed(1));
    }
    this.update();
  }

  /** A line from node to node, bent around others that lie between them. */
  path(a, b) {
    const [[x, y], [u, v]] = [this.places[a], this.places[b]];
    const [along, down] = [u - x, v - y];
    const length = Math.hypot(along, down) || 1;
    const hit = this.places.some(([p, q], node) => {
      if (node === a || node === b) return false;
      const share = ((p - x) * along + (q - y) * down) / (length * length);
      return share > 0 && share < 1 && Math.abs((p - x) * down - (q - y) * along) / length < this.radius * 1.15;
    });
    const bend = hit ? Math.min(this.radius * 3.4, 0.35 * length) : 0;
    const middle = [(x + u) / 2 - (bend * down) / length, (y + v) / 2 + (bend * along) / length];
    const corner = `Q${middle[0].toFixed(1)} ${middle[1].toFixed(1)} ${u.toFixed(1)} ${v.toFixed(1)}`;
    return `M${x.toFixed(1)} ${y.toFixed(1)}${bend ? corner : `L${u.toFixed(1)} ${v.toFixed(1)}`}`;
  }

  /** What is known now. */
  set(nodes, links) {
    this.now = nodes;
    this.losses = links;
    this.update();
  }

  /** What a node is called. */
  name(number) {
    const own = this.about.names[number];
    return own ? `Node ${number} (${own})` : `Node ${number}`;
  }

  values() {
    if (this.mode !== "round") return this.now.values[this.mode] ?? [];
    return this.now.round.map((round, number) => (this.now.state[number] === "elsewhere" ? null : round));
  }

  update() {
    if (!this.about || !this.now || !this.places) return;
    const { state, round } = this.now;
    const values = this.mode === "state" ? [] : this.values();
    const known = values.filter((value) => value !== null && value !== undefined);
    const ends = [Math.min(...known), Math.max(...known)];
    this.nodes.forEach(({ group, title, ring, body, text }, number) => {
      const own = state[number] ?? "waiting";
      group.setAttribute("class", `node ${own}${number === this.chosen ? " chosen" : ""}`);
      group.setAttribute("aria-pressed", String(number === this.chosen));
      const rounds = own === "elsewhere" ? "" : `, round ${round[number] ?? 0} of ${this.about.rounds}`;
      const words = `${this.name(number)}: ${own}${rounds}`;
      group.setAttribute("aria-label", words);
      title.textContent = words;
      const share = this.about.rounds > 0 ? (100 * (round[number] ?? 0)) / this.about.rounds : 0;
      ring.setAttribute("stroke-dasharray", `${share.toFixed(2)} 200`);
      const value = values[number];
      const coloured = this.mode === "state" || value === null || value === undefined;
      const colour = coloured ? `var(--${own})` : rising(ends[1] > ends[0] ? (value - ends[0]) / (ends[1] - ends[0]) : 1);
      body.style.fill = own === "dead" ? "" : colour;
      const shown = getComputedStyle(body).fill;
      text.setAttribute("class", own === "dead" ? "" : isLight(coloured ? this.solid(own) : shown) ? "dark" : "light");
    });
    for (const [place, { a, b, link, title }] of this.links.entries()) {
      const lost = this.losses?.lost[place];
      link.style.stroke = lossColour(lost) ?? "";
      const broken = [a, b].some((end) => ["dead", "refused"].includes(state[end]));
      link.classList.toggle("broken", broken);
      const more = lost === null || lost === undefined ? "" : `: ${(100 * lost).toPrecision(2)} % of frames lost${this.losses.estimated ? ", from what both nodes sent again" : ""}`;
      title.textContent = `${a} – ${b}${more}`;
    }
    this.explain(ends, known.length > 0);
  }

  /** The colour of a state, in red, green and blue: transitions do not change it slowly. */
  solid(state) {
    this.probe ??= shape("circle", { r: 0 }, this.svg);
    if (this.probe.ownerSVGElement !== this.svg) this.svg.append(this.probe);
    this.probe.style.fill = `var(--${state})`;
    return getComputedStyle(this.probe).fill;
  }

  /** The legend. */
  explain(ends, known) {
    const states = STATES.filter((state) => this.now.state.includes(state));
    const lossy = this.losses?.lost.some((lost) => lost !== null);
    const key = JSON.stringify([this.mode, states, known ? ends : null, lossy]);
    if (key === this.explained) return;
    this.explained = key;
    const parts = [];
    if (this.mode === "state" || !known) {
      for (const state of states) {
        const dot = make("i", { class: state });
        if (state !== "dead") dot.style.background = `var(--${state})`;
        parts.push(make("span", { "data-state": state }, dot, state));
      }
    } else {
      parts.push(make("span", {}, number(ends[0]), gradient((share) => rising(share)), number(ends[1])));
    }
    if (this.nodes[0]?.ring.style.display === "") parts.push(make("span", {}, "rim: rounds done"));
    if (lossy) {
      const colour = (share) => `rgb(${mixed(LOSSES, share).join(",")})`;
      parts.push(make("span", {}, "links: 0 % lost", gradient(colour), "10 %"));
    }
    this.legend.replaceChildren(...parts);
  }

  pick(number) {
    this.choose(number === this.chosen ? null : number);
  }

  /** Marks the chosen node. */
  mark(number) {
    this.chosen = number;
    this.update();
  }

  move(number, focus = true) {
    this.nodes[this.focus]?.group.setAttribute("tabindex", "-1");
    this.focus = number;
    this.nodes[number].group.setAttribute("tabindex", "0");
    if (focus) this.nodes[number].group.focus();
  }

  key(event, number) {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return this.pick(number);
    }
    if (event.key === "Escape") return this.choose(null);
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const way = ways[event.key];
    if (!way) return;
    event.preventDefault();
    const next = this.towards(number, way);
    if (next !== null) this.move(next);
  }

  /** The nearest node in a direction. */
  towards(from, [right, down]) {
    const [x, y] = this.places[from];
    let [best, least] = [null, Infinity];
    this.places.forEach(([u, v], node) => {
      const [along, aside] = right ? [(u - x) * right, Math.abs(v - y)] : [(v - y) * down, Math.abs(u - x)];
      const cost = along + 2 * aside;
      if (node !== from && along > 0.5 && cost < least) [best, least] = [node, cost];
    });
    return best;
  }
}

/** A bar of colours. */
export function gradient(colour) {
  const canvas = make("canvas", { width: "64", height: "1", "aria-hidden": "true" });
  const picture = canvas.getContext("2d");
  for (let at = 0; at < 64; at++) {
    picture.fillStyle = colour(at / 63);
    picture.fillRect(at, 0, 1, 1);
  }
  return canvas;
}

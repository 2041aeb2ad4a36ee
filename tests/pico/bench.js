// Several Picos with their lines connected, in one simulated time.

import { Pico } from './pico.js';

/** Less than a byte takes at 1 Mbaud: no byte arrives at a chip that is already past it. */
const AHEAD = 5_000;

export class Bench {
  /** `wires` has [board, link, board, link] for each line. */
  constructor(flashes, wires) {
    const connect = (pico) => {
      const { number } = pico;
      for (const [a, i, b, j] of wires) {
        if (a === number) pico.uarts[i - 1].peer = { pico: this.picos[b], link: j };
        if (b === number) pico.uarts[j - 1].peer = { pico: this.picos[a], link: i };
      }
    };
    this.picos = flashes.map((flash, number) => new Pico(number, flash));
    // Again after every restart, which gives a Pico new UARTs.
    for (const pico of this.picos) {
      pico.onStart = connect;
      connect(pico);
    }
  }

  get now() {
    return Math.min(...this.picos.map((pico) => pico.now));
  }

  /** Runs all of them until a time: always the one that is behind, no further than another could reach it. */
  run(until) {
    for (;;) {
      let first = null;
      let [least, second] = [Infinity, Infinity];
      for (const pico of this.picos) {
        const wakes = pico.wakes;
        if (wakes < least) [first, second, least] = [pico, least, wakes];
        else if (wakes < second) second = wakes;
      }
      if (first === null || least >= until) break;
      first.run(Math.min(second + AHEAD, until));
    }
    this.picos.forEach((pico) => pico.run(until));
  }
}

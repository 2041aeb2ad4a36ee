// Runs Picos as a JSON file describes, and prints what was seen of them.
//
// | field | |
// |---|---|
// | flash | a file per Pico, with its whole flash; written back at the end |
// | wires | [board, link, board, link] for each line |
// | seconds | the longest to run, in simulated seconds |
// | finished | whether to stop when the lights of all show that they have finished |
// | erases | whether to stop when every Pico has erased this many sectors, and then written for a moment |
// | flood | the Picos whose hosts never stop sending while they learn |
// | drop | one of so many bytes on each line is lost |
// | serve | a socket per Pico: its USB port, from then on until standard input ends |

import fs from 'node:fs';
import { Bench } from './bench.js';
import { serve } from './serve.js';
import { noise } from './noise.js';

const plan = JSON.parse(fs.readFileSync(process.argv[2]));
const bench = new Bench(plan.flash.map((name) => fs.readFileSync(name)), plan.wires ?? []);
for (const pico of bench.picos) pico.drop = plan.drop ?? Infinity;

/** A light that stays on for longer than any other pattern keeps it on. */
const finished = (pico) => pico.light.on && pico.now - pico.light.at > 3e9;

/** Hosts that never stop sending while Picos learn. The light of one that has finished stays on for longer than rounds take. */
const flooded = (plan.flood ?? []).map((number) => bench.picos[number]);
for (const pico of flooded) {
  const packet = noise(pico.number);
  const learned = () => pico.light.on && pico.now - pico.light.at > 0.2e9;
  pico.usb.flood = (len) => (learned() ? null : packet(len));
}
const erased = (pico) => pico.seen.erases >= plan.erases && pico.busy <= pico.now;

const MOMENT = 20e6;
const done = () =>
  (plan.finished && bench.picos.every(finished)) || (plan.erases && bench.picos.every(erased));
let stopped = false;
while (!stopped && bench.now < plan.seconds * 1e9) {
  bench.run(bench.now + MOMENT);
  // Again, should a light that stayed on have changed.
  for (const pico of flooded) pico.usb.feed();
  stopped = done();
}
if (plan.erases) bench.run(bench.now + MOMENT);
for (const pico of bench.picos) pico.usb.flood = null;
if (plan.serve) await serve(bench, plan.serve);
plan.flash.forEach((name, i) => fs.writeFileSync(name, bench.picos[i].chip.flash.subarray(0, 2 << 20)));
const seen = bench.picos.map((pico) => ({
  ...pico.seen,
  baud: Math.round(1e9 / pico.uarts[0].bit),
  finished: finished(pico),
}));
console.log(JSON.stringify({ seconds: bench.now / 1e9, stopped, picos: seen }));

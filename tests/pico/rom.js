// The boot ROM, which the emulator does not have: the functions that the image looks up, done from outside.
//
// Nothing is executed below 0x4000. A call that arrives there is carried out here, and returns.

/** How long the flash of a Pico (W25Q16JV) is busy, in nanoseconds: typical times of its data sheet. */
const ERASE_SECTOR = 45e6;
const ERASE_BLOCK = 150e6;
const PROGRAM_PAGE = 0.4e6;

const SECTOR = 4096;
const PAGE = 256;
const LOOKUP = 0x100;
const FIRST = 0x200;

/** Connect the flash, exit XIP, flush the cache, enter XIP: nothing to do. */
const NOTHING = ['IF', 'EX', 'FC', 'CX'];
const TAGS = [...NOTHING, 'C4', 'RE', 'RP'];

export class Rom {
  constructor(pico) {
    this.pico = pico;
    // The function table is only an argument of the lookup, so its place does not matter.
    pico.chip.bootrom[0x14 / 4] = 0x40;
    pico.chip.bootrom[0x18 / 4] = LOOKUP | 1;
  }

  /** Carries out the function that was called. */
  call() {
    const { core } = this.pico.chip;
    const [a, b, c] = core.registers;
    const at = core.PC & ~1;
    if (at === LOOKUP) {
      const tag = String.fromCharCode(b & 0xff, (b >> 8) & 0xff);
      const index = TAGS.indexOf(tag);
      // Among others the float routines of the ROM, which would change bits.
      if (index < 0) throw new Error(`the image asks for '${tag}' of the boot ROM`);
      core.registers[0] = (FIRST + 16 * index) | 1;
    } else {
      this.function(TAGS[(at - FIRST) / 16], a, b, c);
    }
    core.PC = core.LR & ~1;
  }

  function(tag, a, b, c) {
    const { pico } = this;
    const { flash } = pico.chip;
    if (tag === 'C4') {
      for (let i = 0; i < c; i += 4) pico.chip.writeUint32(a + i, pico.chip.readUint32(b + i));
    } else if (tag === 'RE') {
      flash.fill(0xff, a, a + b);
      let [at, busy] = [a, 0];
      while (at < a + b) {
        const block = at % c === 0 && a + b - at >= c;
        busy += block ? ERASE_BLOCK : ERASE_SECTOR;
        at += block ? c : SECTOR;
      }
      pico.seen.erases += b / SECTOR;
      // No two are equally fast: while one Pico is done, another is still deaf.
      this.busy(busy * (1 + pico.number / 8));
    } else if (tag === 'RP') {
      // A write can only clear bits.
      for (let i = 0; i < c; i++) flash[a + i] &= pico.chip.readUint8(b + i);
      pico.seen.programs += c / PAGE;
      this.busy((c / PAGE) * PROGRAM_PAGE);
    } else if (!NOTHING.includes(tag)) {
      throw new Error(`the image jumped into the boot ROM, to ${pico.chip.core.PC.toString(16)}`);
    }
  }

  busy(nanos) {
    this.pico.seen.deaf = Math.max(this.pico.seen.deaf, nanos / 1e6);
    this.pico.busy = this.pico.chip.clock.nanos + nanos;
  }
}

// A PL011. The emulator's own asserts its transmit interrupt for ever, and does not take time to send.

import { BasePeripheral } from 'rp2040js';

const [DR, FR, IBRD, FBRD, LCR_H, CR, IFLS] = [0x00, 0x18, 0x24, 0x28, 0x2c, 0x30, 0x34];
const [IMSC, RIS, MIS, ICR, DMACR] = [0x38, 0x3c, 0x40, 0x44, 0x48];
const PLAIN = [IBRD, FBRD, LCR_H, CR, IFLS, IMSC, DMACR];
const [TXFE, RXFF, TXFF, RXFE, BUSY] = [1 << 7, 1 << 6, 1 << 5, 1 << 4, 1 << 3];
const [RECEIVED, SENT, QUIET, OVERRUN] = [1 << 4, 1 << 5, 1 << 6, 1 << 10];
/** In the data register, on the first byte after the lost ones. */
const LOST = 1 << 11;

const DEPTH = 32;
const LEVELS = [4, 8, 16, 24, 28];
/** Bits of a byte on the line, and of the silence after which a byte may be fetched. */
const BYTE = 10;
const SILENCE = 32;

export class Uart extends BasePeripheral {
  /** The other end; none if the line is not connected. */
  peer = null;
  registers = { [IFLS]: 0b010010 };
  incoming = [];
  outgoing = [];
  sending = false;
  lost = false;
  raw = 0;

  constructor(pico, name, irq, dreq) {
    super(pico.chip, name);
    Object.assign(this, { pico, irq, dreq, clock: pico.chip.clock });
    this.shifted = this.clock.createAlarm(() => this.shift());
    this.quiet = this.clock.createAlarm(() => this.raise(QUIET));
  }

  /** Nanoseconds per bit. */
  get bit() {
    const divider = (this.registers[IBRD] ?? 0) + (this.registers[FBRD] ?? 0) / 64;
    return (16e9 * divider) / this.rp2040.clkPeri;
  }

  level(shift) {
    return LEVELS[(this.registers[IFLS] >> shift) & 7];
  }

  raise(bits) {
    this.raw |= bits;
    this.interrupt();
  }

  /** Also withdraws an interrupt that was set pending by software: the emulator does not do so when it is taken. */
  interrupt() {
    this.rp2040.setInterrupt(this.irq, (this.raw & (this.registers[IMSC] ?? 0)) !== 0);
  }

  /** Asks for DMA while there is something to fetch. */
  request() {
    const { dma } = this.rp2040;
    const wanted = ((this.registers[DMACR] ?? 0) & 1) !== 0 && this.incoming.length > 0;
    if (wanted) dma.setDREQ(this.dreq);
    else dma.clearDREQ(this.dreq);
  }

  /** A byte has arrived. */
  receive(byte) {
    const { seen, drop } = this.pico;
    seen.received++;
    if (this.incoming.length === DEPTH || seen.received % drop === 0) {
      seen.lost++;
      this.lost = true;
      this.raise(OVERRUN);
      return;
    }
    this.incoming.push(byte | (this.lost ? LOST : 0));
    this.lost = false;
    this.quiet.schedule(SILENCE * this.bit);
    if (this.incoming.length >= this.level(3)) this.raise(RECEIVED);
    this.request();
  }

  /** Puts the next byte on the line; it arrives when its last bit has. */
  shift() {
    this.sending = this.outgoing.length > 0;
    if (!this.sending) return;
    const [byte, took] = [this.outgoing.shift(), BYTE * this.bit];
    if (this.peer) this.pico.send(this.peer, byte, this.clock.nanos + took);
    this.shifted.schedule(took);
    if (this.outgoing.length === this.level(0)) this.raise(SENT);
  }

  readUint32(offset) {
    if (PLAIN.includes(offset)) return this.registers[offset] ?? 0;
    if (offset === RIS) return this.raw;
    if (offset === MIS) return this.raw & (this.registers[IMSC] ?? 0);
    if (offset === FR) {
      const { incoming, outgoing } = this;
      return (
        (incoming.length === 0 ? RXFE : 0) |
        (incoming.length === DEPTH ? RXFF : 0) |
        (outgoing.length === 0 ? TXFE : 0) |
        (outgoing.length === DEPTH ? TXFF : 0) |
        (this.sending ? BUSY : 0)
      );
    }
    if (offset !== DR) return super.readUint32(offset);
    const byte = this.incoming.shift() ?? 0;
    if (this.incoming.length < this.level(3)) this.raw &= ~RECEIVED;
    if (this.incoming.length === 0) {
      this.raw &= ~QUIET;
      this.quiet.cancel();
    }
    this.interrupt();
    this.request();
    return byte;
  }

  writeUint32(offset, value) {
    if (offset === DR) {
      if (this.outgoing.length < DEPTH) this.outgoing.push(value & 0xff);
      if (!this.sending) this.shift();
    } else if (offset === ICR) {
      this.raw &= ~this.rawWriteValue;
      this.interrupt();
    } else if (PLAIN.includes(offset)) {
      this.registers[offset] = value;
      if (offset === IMSC) this.interrupt();
      if (offset === DMACR) this.request();
    } else {
      super.writeUint32(offset, value);
    }
  }
}

// One Pico: the emulated chip, what the emulator lacks, and what is seen of it from outside.

import { BasePeripheral, GPIOPinState, RP2040 } from 'rp2040js';
import { Rom } from './rom.js';
import { Uart } from './uart.js';
import { Usb } from './usb.js';

const FLASH_AT = 0x10000000;
const RAM_END = 0x20042000;
/** 125 MHz. */
const CYCLE = 8;
const LIGHT = 25;
/** Interrupts, and requests for DMA when something was received. */
const [UART0, UART1] = [
  [20, 21],
  [21, 23],
];

/** The chip restarts: thrown, because the emulator's clock would not return from a watchdog's alarm. */
class Reset extends Error {}

/** Controls the cache of the flash, which the emulator lacks: always empty and ready. */
class Xip extends BasePeripheral {
  readUint32(offset) {
    return offset === 8 ? 3 : 0;
  }
  writeUint32() {}
}

export class Pico {
  seen = { changes: 0, resets: 0, erases: 0, programs: 0, received: 0, lost: 0, fed: 0, deaf: 0 };
  /** When the light last changed, and what it shows. */
  light = { at: 0, on: false };
  /** Until when the flash is busy: the chip does not execute, but its devices go on. */
  busy = 0;
  /** Every so many bytes, one is lost. */
  drop = Infinity;
  /** Until when it runs. */
  until = 0;
  /** Called after a restart. */
  onStart = null;

  constructor(number, flash) {
    this.number = number;
    this.start(flash, 0);
  }

  get now() {
    return this.chip.clock.nanos;
  }

  start(flash, now) {
    const chip = new RP2040();
    Object.assign(this, { chip, busy: 0 });
    chip.flash.set(flash);
    chip.clock.nanosCounter = now;
    this.rom = new Rom(this);
    this.uarts = [new Uart(this, 'UART0', ...UART0), new Uart(this, 'UART1', ...UART1)];
    const ppb = chip.ppb.writeUint32;
    chip.ppb.writeUint32 = (offset, value) => {
      // Application interrupt and reset control.
      if (offset === 0xd0c && value & 4) throw new Reset();
      ppb.call(chip.ppb, offset, value);
    };
    Object.assign(chip.peripherals, { 0x14000: new Xip(chip, 'XIP'), 0x40034: this.uarts[0], 0x40038: this.uarts[1] });
    chip.peripherals[0x40058].onWatchdogTrigger = () => {
      throw new Reset();
    };
    // The emulator only logs SEV, which sets the event that WFE waits for.
    const info = (_, text) => {
      if (text === 'SEV') chip.core.eventRegistered = true;
    };
    chip.logger = { debug() {}, info, warn() {}, error() {} };
    chip.gpio[LIGHT].addListener((state) => {
      const on = state === GPIOPinState.High;
      if (on !== this.light.on) this.seen.changes++;
      this.light = { at: this.now, on };
    });
    this.usb = new Usb(this);
    // As the ROM leaves it to the second boot stage, which begins the flash.
    Object.assign(chip.core, { PC: FLASH_AT, LR: 0, SP: RAM_END });
    this.onStart?.(this);
  }

  /** A byte arrives at another Pico, at a time that it has not reached yet. From then on it may answer. */
  send({ pico, link }, byte, at) {
    this.until = Math.min(this.until, at);
    const { clock } = pico.chip;
    const uart = pico.uarts[link - 1];
    if (at < clock.nanos) throw new Error('a byte arrives in the past');
    clock.createAlarm(() => uart.receive(byte)).schedule(at - clock.nanos);
  }

  /** When it may next do something. */
  get wakes() {
    const { clock, core } = this.chip;
    const alarm = clock.nextAlarm?.nanos ?? Infinity;
    if (this.busy > clock.nanos) return Math.min(alarm, this.busy);
    return core.waiting ? alarm : clock.nanos;
  }

  /** Runs until a time, or until another may react to it. */
  run(until) {
    this.until = until;
    try {
      this.execute();
    } catch (error) {
      if (!(error instanceof Reset)) throw error;
      this.seen.resets++;
      this.start(this.chip.flash, this.now);
    }
  }

  execute() {
    const { clock, core } = this.chip;
    while (clock.nanos < this.until) {
      if (core.waiting || this.busy > clock.nanos) {
        clock.tick(Math.min(this.wakes, this.until) - clock.nanos);
      } else if (core.PC < 0x4000) {
        this.rom.call();
      } else {
        clock.tick(core.executeInstruction() * CYCLE);
      }
    }
  }
}

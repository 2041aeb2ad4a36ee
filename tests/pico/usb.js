// The host's end of the USB cable: finds the serial port of a Pico, and exchanges bytes with it.

import { USBCDC } from 'rp2040js';

const AVAILABLE = 1 << 10;
const FIRST_OUT = 0x84;
const LAST_OUT = 0xfc;
/** A full packet would need an empty one after it. */
const PACKET = 63;

export class Usb {
  /** What waits for the Pico. */
  queue = [];
  /** Whether the Pico waits for a packet. */
  asked = false;
  /** Makes a packet when nothing waits, for a host that never stops. */
  flood = null;
  /** Called with what the Pico has sent. */
  onBytes = () => {};

  constructor(pico) {
    this.pico = pico;
    const { usbCtrl, usbDPRAMView: ram } = pico.chip;
    this.port = new USBCDC(usbCtrl);
    this.port.onSerialData = (bytes) => this.onBytes(bytes);
    // The emulator feeds an empty packet at once if there is none; a host sends when it has something.
    usbCtrl.onEndpointRead = (endpoint) => {
      if (endpoint !== this.port.outEndpoint) return;
      this.asked = true;
      this.feed();
    };
    // The emulator takes a buffer from the chip when the chip offers it; a controller does when a packet has arrived.
    const { DPRAMUpdated, finishRead } = usbCtrl;
    usbCtrl.DPRAMUpdated = (offset, value) => {
      DPRAMUpdated.call(usbCtrl, offset, value);
      const out = offset > FIRST_OUT && offset <= LAST_OUT && (offset & 4) !== 0;
      if (out && value & AVAILABLE) ram.setUint32(offset, ram.getUint32(offset, true) | AVAILABLE, true);
    };
    usbCtrl.finishRead = (endpoint, bytes) => {
      const offset = FIRST_OUT + 8 * endpoint;
      ram.setUint32(offset, ram.getUint32(offset, true) & ~AVAILABLE, true);
      finishRead.call(usbCtrl, endpoint, bytes);
    };
  }

  send(bytes) {
    this.queue.push(...bytes);
    this.feed();
  }

  /** Gives the Pico a packet if it waits for one. */
  feed() {
    const next = this.queue.length > 0 ? this.queue.splice(0, PACKET) : this.flood?.(PACKET);
    if (!this.asked || !next) {
      if (next && this.flood === null) this.queue.unshift(...next);
      return;
    }
    this.asked = false;
    this.pico.seen.fed += next.length;
    this.pico.chip.usbCtrl.endpointReadDone(this.port.outEndpoint, Uint8Array.from(next), 60);
  }
}

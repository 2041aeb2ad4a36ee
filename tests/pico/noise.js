// What a hostile host sends.

/** Makes packets of bytes that look random, every eighth a zero: most end a frame, none is one. */
export function noise(seed) {
  let state = seed + 1;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 24;
  };
  return (len) => Array.from({ length: len }, () => (next() < 32 ? 0 : next()));
}

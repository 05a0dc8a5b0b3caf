'use strict';

// File times are nanoseconds since 1970, as BigInt: a double cannot hold them.

const SECOND = 1000000000n;

const GRAINS = { ns: 1n, ms: 1000000n, '10ms': 10000000n, s: SECOND, '2s': 2n * SECOND };

// BigInt division rounds towards zero; times before 1970 need the floor.
function floorTo(ns, grain) {
  const over = ns % grain;
  return ns - (over < 0n ? over + grain : over);
}

// Milliseconds, whole or not, as nanoseconds. The whole part goes apart, because
// the product would not fit into a double.
function fromMs(ms) {
  const whole = Math.trunc(ms);
  return BigInt(whole) * 1000000n + BigInt(Math.round((ms - whole) * 1e6));
}

// The milliseconds of the Date that stat gives. Node computes them in doubles, so
// that .4999999 ms can come out as .5, and rounds half up.
function statMs(ns) {
  const second = floorTo(ns, SECOND);
  return Math.floor(Number(second / SECOND) * 1000 + Number(ns - second) / 1e6 + 0.5);
}

// What utimes stores when it is asked for `seconds`, a double: libuv cuts it to
// microseconds, after the multiplication has had its say.
function cut(seconds) {
  const whole = Math.trunc(seconds);
  const ns = Math.trunc((seconds - whole) * 1e9);
  return BigInt(whole) * SECOND + BigInt(ns - ns % 1000);
}

module.exports = { GRAINS, floorTo, fromMs, statMs, cut };

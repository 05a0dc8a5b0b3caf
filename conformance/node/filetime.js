'use strict';

// node filetime.js [--check]: testdata/filetime.json, what Node makes of real file
// times on the real filesystem of the temporary directory. Linux, with GNU touch.
//
//   stat         the ms of the Date that stat gives for a time of (sec, nsec)
//   utimes       the (sec, nsec) that utimes stores for a Date of ms, where libuv
//                cuts to microseconds (up to 1.51)
//   utimes_uncut the same where it does not (from 1.52)

const { execFileSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { writeOrCheck } = require('./vectors');

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'filetime-'));
const file = path.join(dir, 'f');
fs.writeFileSync(file, '');

let seed = 1;
const random = (n) => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 2147483648 * n); };
const times = (n, make) => Array.from({ length: n }, make);

const SECOND = 1000000000n;

// The stored time. Floor, as the kernel has it: nsec is never negative.
function stored() {
  const ns = fs.statSync(file, { bigint: true }).mtimeNs;
  const nsec = ((ns % SECOND) + SECOND) % SECOND;
  return { sec: Number((ns - nsec) / SECOND), nsec: Number(nsec) };
}

function stat([sec, nsec]) {
  const ns = BigInt(sec) * SECOND + BigInt(nsec);
  const digits = String(ns < 0n ? -ns : ns).padStart(10, '0');
  execFileSync('touch', ['-d', `@${ns < 0n ? '-' : ''}${digits.slice(0, -9)}.${digits.slice(-9)}`, file]);
  const there = stored();
  if (there.sec !== sec || there.nsec !== nsec) throw new Error(`this filesystem cannot store ${sec} s ${nsec} ns`);
  return { sec, nsec, ms: fs.statSync(file).mtime.getTime() };
}

function utimes(ms) {
  fs.utimesSync(file, new Date(ms), new Date(ms));
  return { ms, ...stored() };
}

// Node 14 and 16 take a time before 1970 for one far in the future.
const before1970 = Number(process.version.slice(1).split('.')[0]) >= 18;
const [major, minor] = process.versions.uv.split('.').map(Number);
const uncut = major > 1 || minor >= 52;

// Where a millisecond has its half, and where doubles put it at today's times.
const edges = [0, 1, 499, 500, 501, 999, 1000, 499877, 499878, 499879, 499880, 499999, 500000, 500001, 999999,
  1000000, 499499999, 499499900, 499500000, 499999999, 500000000, 998500000, 999499877, 999499878, 999499999,
  999500000, 999999999];
// The first and the last are within what ext4 stores.
const seconds = [0, 1, 999999999, 1700000000, 2147483647, 2147483648, 4294967296, 9999999999, 15000000000];
const early = [-1, -2, -1700000000, -2147483647];

const pairs = [].concat(
  ...seconds.map((sec) => edges.map((nsec) => [sec, nsec])),
  times(100, () => [1600000000 + random(400000000), random(1000000000)]),
  times(60, () => [1700000000 + random(1000), random(1000) * 1000000 + 499000 + random(1000)]),
  ...early.map((sec) => edges.map((nsec) => [sec, nsec])),
);

const dates = [...new Set([].concat(
  [0, 1, 5, 999, 1000, 1001, 1699999999999, 1700000000000, 1700000000001, 1700000000005, 1700000000076,
    2147483647999, 2147483648000, 4102444800123, 9999999999999, 15000000000999],
  times(200, () => 1600000000000 + random(400000000000)),
  times(60, (_, i) => 1700000000000 + i),
  times(40, () => random(15000000000) * 1000 + random(1000)),
  [-1, -5, -999, -1000, -1001, -1234567, -1699999999924, -2147483646999],
))];

const asked = (list, isEarly) => list.filter((v) => before1970 || !isEarly(v));
writeOrCheck('filetime.json', {
  stat: asked(pairs, ([sec]) => sec < 0).map(stat),
  [uncut ? 'utimes_uncut' : 'utimes']: asked(dates, (ms) => ms < 0).map(utimes),
}, (section, { sec }) => sec < 0 && !before1970);

fs.unlinkSync(file);
fs.rmdirSync(dir);

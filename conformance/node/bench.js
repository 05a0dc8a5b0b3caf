'use strict';

// node --expose-gc bench.js DIR: what proper-lockfile costs, in files below DIR, as JSON:
// for each version the ns of a lock with its release, awaited one after another, and for
// 10,000 locks held at a time the memory of each and the processor's time, in ns, for a
// heartbeat. The benchmark BenchmarkBesideNode of compat/properlockfile runs it.

const fs = require('fs');
const path = require('path');

const dir = process.argv[2];
const ROUNDS = 5000;
const HELD = 10000;
const UPDATE = 2000;

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

function heap() {
  global.gc();
  global.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

// The package with promises: lock(file, options) gives release().
function load(name) {
  const api = require(name);
  if (name.endsWith('4')) return api.lock;
  const promised = (call) => new Promise((resolve, reject) => {
    call((err, value) => (err ? reject(err) : resolve(value)));
  });
  return (file, options) => promised((done) => api.lock(file, options, done))
    .then((release) => () => promised(release));
}

async function measure(name) {
  const lock = load(name);
  const touch = (base) => {
    const file = path.join(dir, base);
    fs.writeFileSync(file, '');
    return file;
  };

  const file = touch('f');
  const times = [];
  for (let i = 0; i < ROUNDS; i++) {
    const began = process.hrtime();
    const release = await lock(file);
    await release();
    const [s, ns] = process.hrtime(began);
    times.push(s * 1e9 + ns);
  }

  const files = Array.from({ length: HELD }, (_, i) => touch(String(i)));
  const releases = new Array(HELD);
  const before = heap();
  for (let i = 0; i < HELD; i++) releases[i] = await lock(files[i], { stale: 3600000, update: UPDATE });
  const bytes = (heap() - before) / HELD;
  const { user, system } = process.cpuUsage();
  await sleep(2 * UPDATE);
  const used = process.cpuUsage();
  const heartbeat = (used.user + used.system - user - system) * 1000 / (2 * HELD);
  for (const release of releases) await release();
  return { lock_ns: median(times), bytes, heartbeat_ns: heartbeat };
}

async function main() {
  if (!dir || !global.gc) throw new Error('usage: node --expose-gc bench.js DIR');
  const result = {};
  for (const version of [4, 1]) result[`V${version}`] = await measure(`proper-lockfile-${version}`);
  console.log(JSON.stringify(result));
}

main().catch((err) => {
  console.error(err.message);
  process.exitCode = 1;
});

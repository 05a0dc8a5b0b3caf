'use strict';

// A process of a benchmark: see participant_test.go, whose commands it takes. It locks with
// the published packages.

const fs = require('fs');
const path = require('path');
const readline = require('readline');

const packages = path.join(__dirname, '..', '..', 'conformance', 'node', 'node_modules');
const [protocol, lock] = process.argv.slice(2);

// Who waits does so for as long as it takes. That is what the packages offer for it: one
// tries again at a fixed time, the other at times that double from a second on unless it is
// told otherwise.
let acquire;
if (protocol === 'lockfile') {
  const lockfile = require(path.join(packages, 'lockfile'));
  const unlock = () => new Promise((done, failed) => lockfile.unlock(lock, (e) => (e ? failed(e) : done())));
  acquire = () => new Promise((done, failed) => {
    lockfile.lock(lock, { wait: 3600e3 }, (e) => (e ? failed(e) : done(unlock)));
  });
} else {
  const proper = require(path.join(packages, 'proper-lockfile-4'));
  acquire = () => proper.lock(lock, { retries: { forever: true, maxTimeout: Number(process.env.LONGEST || 0) || Infinity } });
}

const now = () => process.hrtime.bigint();
const spin = (ns) => { for (const end = now() + BigInt(ns); now() < end;); };
const say = (...words) => fs.writeSync(1, `${words.join(' ')}\n`);

let release;
async function run(command, rounds, ns) {
  switch (command) {
    case 'lock':
      release = await acquire();
      say(now());
      break;
    case 'release': {
      const before = now();
      await release();
      say(before);
      break;
    }
    case 'contend':
      for (let i = 0; i < rounds; i += 1) {
        const asked = now();
        const free = await acquire();
        const got = now();
        spin(ns);
        await free();
        say(asked, got);
      }
      say('end');
      break;
    case 'wait':
      for (let i = 0; i < rounds; i += 1) acquire().catch(() => {});
      say('waiting');
      break;
    default:
      throw new Error(command);
  }
}

readline.createInterface({ input: process.stdin })
  .on('line', (line) => {
    const [command, ...numbers] = line.split(' ');
    run(command, ...numbers.map(Number)).catch((e) => { say('error', e.message); });
  })
  .on('close', () => process.exit());

'use strict';

// node retry.js            records what both versions of the package retry do with
//                          random options into testdata/retry.json
// node retry.js --check    verifies that recording again would change nothing
//
// Each entry has the options, the numbers that Math.random gave, and for each version
// the timeouts, and how an operation went that met the errors listed: the waits before
// each further attempt, and which error was reported in the end (its index, "timeout"
// for the package's own, null if the operation was still going on after the last one).

const fs = require('fs');
const path = require('path');
const { load } = require('./load');

const TARGET = path.join(__dirname, '..', '..', 'testdata', 'retry.json');
const SETS = 400;
const VERSIONS = {
  '0.10.1': 'retry',
  '0.12.0': './node_modules/proper-lockfile-4/node_modules/retry',
};

let seed = 1;
const random = () => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return seed / 2147483648;
};
const below = (n) => Math.floor(random() * n);
const choose = (...list) => list[below(list.length)];
const maybe = (share, make) => (random() < share ? make() : undefined);

function makeOptions() {
  const options = {
    retries: maybe(0.7, () => choose(-1, 0, 1, 2, 3, 5, 8, 13, 25)),
    factor: maybe(0.7, () => choose(0, 0.5, 0.9, 1, 1.1, 1.5, 2, 2.5, 3, -1.5, Number((random() * 3).toFixed(3)))),
    minTimeout: maybe(0.6, () => choose(0, 0.4, 1, 5, 33, 100, 250.5, 1000, 2500, -20, below(5000))),
    maxTimeout: maybe(0.4, () => choose(0, 50, 1000, 3000.5, 10000, 60000, below(20000))),
    randomize: maybe(0.5, () => choose(true, true, false)),
    forever: maybe(0.2, () => choose(true, true, false)),
    maxRetryTime: maybe(0.3, () => choose(-5, 0, 1, 2000, 10000, below(30000))),
  };
  return JSON.parse(JSON.stringify(options));
}

// The errors that the attempts meet, and how long each attempt takes.
function makeAttempts() {
  const messages = choose(['a'], ['a', 'b'], ['a', 'b', 'c']);
  return Array.from({ length: 1 + below(18) }, () => ({ message: choose(...messages), takes: choose(0, 0, 3, 700) }));
}

function observe(name, options, attempts, randoms) {
  let now = 0;
  let due;
  const world = {
    fs,
    process,
    Date: class extends Date { getTime() { return now; } },
    setTimeout(fn, ms) { due = { fn, ms }; },
    clearTimeout() {},
  };
  const retry = load(name, world);
  const given = Math.random;
  let drawn = 0;
  Math.random = () => randoms[drawn++];
  try {
    const timeouts = retry.timeouts(options);
    drawn = 0;
    const operation = retry.operation(options);
    const errors = attempts.map(({ message }) => new Error(message));
    const waits = [];
    let attempt = 0;
    let main = null;
    operation.attempt(() => {});
    for (; attempt < attempts.length; attempt++) {
      now += attempts[attempt].takes;
      if (!operation.retry(errors[attempt])) {
        const found = operation.mainError();
        main = errors.includes(found) ? errors.indexOf(found) : 'timeout';
        if (main === 'timeout' && found.message !== 'RetryOperation timeout occurred') throw found;
        break;
      }
      waits.push(due.ms);
      now += Math.max(1, Math.trunc(due.ms));
    }
    return { timeouts, waits, main };
  } catch (err) {
    return { error: err.message };
  } finally {
    Math.random = given;
  }
}

function recordAll() {
  const lines = [];
  for (let i = 0; i < SETS; i++) {
    const options = makeOptions();
    const attempts = makeAttempts();
    const length = options.randomize ? Math.max(options.retries === undefined ? 10 : options.retries, 1) : 0;
    const randoms = Array.from({ length }, random);
    const entry = { options, random: randoms, attempts };
    for (const [version, name] of Object.entries(VERSIONS)) entry[version] = observe(name, options, attempts, randoms);
    lines.push(JSON.stringify(entry));
  }
  return lines;
}

const [command, ...rest] = process.argv.slice(2);
if (rest.length || (command !== undefined && command !== '--check')) {
  console.error('usage: node retry.js [--check]');
  process.exitCode = 2;
} else if (command === '--check') {
  const committed = JSON.parse(fs.readFileSync(TARGET, 'utf8')).map((entry) => JSON.stringify(entry));
  const lines = recordAll();
  const wrong = lines.filter((l, i) => l !== committed[i]).length + Math.abs(lines.length - committed.length);
  console.log(`${process.version}: ${lines.length} checked, ${wrong} differ`);
  process.exitCode = wrong ? 1 : 0;
} else {
  fs.writeFileSync(TARGET, `[\n${recordAll().join(',\n')}\n]\n`);
}

'use strict';

// node record.js                 records conformance/node/scenarios into testdata
// node record.js --check         verifies that recording again would change nothing
// node record.js run FILE...     prints the recordings of any scenarios, one a line

const fs = require('fs');
const path = require('path');
const { line, pretty } = require('./format');
const { run } = require('./run');
const { check, input, Invalid } = require('./scenario');

const SCENARIOS = path.join(__dirname, 'scenarios');
const TESTDATA = path.join(__dirname, '..', '..', 'testdata');

// A file is a list of scenarios or of entries, or one of either.
function readScenarios(file) {
  let list;
  try {
    list = JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch (err) {
    throw new Invalid(`${file}: ${err.message}`);
  }
  return [].concat(list).map((item) => {
    const scenario = item && item.scenario ? item.scenario : item;
    try {
      check(scenario);
    } catch (err) {
      if (err instanceof Invalid) err.message = `${file}: ${err.message}`;
      throw err;
    }
    return input(scenario);
  });
}

// What of a scenario or a recording is compared. The text of an uncaught exception is
// left out: V8 words its own exceptions differently from version to version.
function compared({ recorded_with, ...rest }) {
  if (rest.truncated) rest.truncated = rest.truncated.replace(/^uncaught: .*/s, 'uncaught');
  return rest;
}

const same = (a, b) => line(compared(a)) === line(compared(b));

// The input files, with what is committed for each: name → entry. A `go` part is
// written by hand and stays as it is; so does the origin of a recording that has not
// changed.
function* files() {
  const names = new Set();
  for (const api of fs.readdirSync(SCENARIOS).sort()) {
    for (const base of fs.readdirSync(path.join(SCENARIOS, api)).filter((f) => f.endsWith('.json')).sort()) {
      const scenarios = readScenarios(path.join(SCENARIOS, api, base));
      for (const { name } of scenarios) {
        const key = `${api}: ${name}`;
        if (names.has(key)) throw new Invalid(`${api}/${base}: there are two scenarios ${JSON.stringify(name)}`);
        names.add(key);
      }
      const target = path.join(TESTDATA, api, base);
      const committed = fs.existsSync(target) ? JSON.parse(fs.readFileSync(target, 'utf8')) : [];
      yield { api, base, target, scenarios, committed };
    }
  }
}

async function record({ scenarios, committed }) {
  const before = new Map(committed.map((entry) => [entry.scenario.name, entry]));
  const entries = [];
  for (const scenario of scenarios) {
    const old = before.get(scenario.name) || {};
    const recording = await run(scenario);
    const entry = { scenario, recording: old.recording && same(old.recording, recording) ? old.recording : recording };
    if (old.go) entry.go = old.go;
    entries.push(entry);
  }
  return entries;
}

async function recordAll() {
  let count = 0;
  for (const file of files()) {
    const entries = await record(file);
    fs.mkdirSync(path.dirname(file.target), { recursive: true });
    fs.writeFileSync(file.target, pretty(entries) + '\n');
    count += entries.length;
    // Such a recording shows no behaviour to mirror: somebody has to write the `go` part.
    for (const { scenario, recording, go } of entries) {
      if (recording.truncated && !go) console.log(`${scenario.name}: ${recording.truncated}, and has no go`);
    }
  }
  console.log(`${count} recorded`);
}

// The lines of b that differ from a's, in a few lines of their own.
function difference(a, b) {
  const [before, after] = [pretty(a).split('\n'), pretty(b).split('\n')];
  const first = before.findIndex((l, i) => l !== after[i]);
  const at = first < 0 ? before.length : first;
  const show = (sign, lines) => lines.slice(at, at + 5).map((l) => `  ${sign} ${l.trim()}`);
  return [...show('-', before), ...show('+', after)].join('\n');
}

async function checkAll() {
  let [count, wrong] = [0, 0];
  const complain = (text) => { wrong++; console.log(text); };
  for (const file of files()) {
    const entries = await record(file);
    const where = `testdata/${file.api}/${file.base}`;
    if (file.committed.length !== entries.length) {
      complain(`${where}: has ${file.committed.length} entries, not ${entries.length}`);
    }
    entries.forEach((entry, i) => {
      count++;
      const old = file.committed[i] || {};
      for (const part of ['scenario', 'recording']) {
        const [a, b] = [old[part] || {}, entry[part]].map(compared);
        if (line(a) !== line(b)) complain(`${where}: ${entry.scenario.name}: ${part} differs\n${difference(a, b)}`);
      }
    });
  }
  console.log(`${process.version}: ${count} checked, ${wrong} differ`);
  if (wrong) process.exitCode = 1;
}

async function printAll(names) {
  const scenarios = [].concat(...names.map(readScenarios));
  for (const scenario of scenarios) console.log(JSON.stringify(await run(scenario)));
}

async function main([command, ...rest]) {
  // Errnos are asked from Node, and a recording's are Linux's.
  if (process.platform !== 'linux') throw new Invalid('recordings are made on Linux');
  if (command === 'run' && rest.length) return printAll(rest);
  if (command === '--check' && !rest.length) return checkAll();
  if (command === undefined) return recordAll();
  throw new Invalid('usage: node record.js [--check | run FILE...]');
}

main(process.argv.slice(2)).catch((err) => {
  console.error(err instanceof Invalid ? err.message : err);
  process.exitCode = 2;
});

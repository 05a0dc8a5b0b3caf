'use strict';

// node differences.js            shows where the Go engines do not do what the `go`
//                                parts in testdata say, and which parts say what Node
//                                does anyway
// node differences.js --write    fills in what the Go engines do
//
// A `go` part is written by hand: `difference` names the listed difference, `reason`
// says why. Its recording is long and may be filled in by this, and is then read and
// judged like any other expectation before it is committed: the engine that it will be
// held to has written it.

const fs = require('fs');
const path = require('path');
const { execFileSync } = require('child_process');
const { line, pretty } = require('./format');

const TESTDATA = path.join(__dirname, '..', '..', 'testdata');

const compared = ({ trace, results, disk, fds }) => line({ trace, results, disk, fds });

function observe(scenario) {
  const text = execFileSync('go', ['run', '../conform', 'observe', '-'],
    { cwd: __dirname, input: JSON.stringify(scenario), encoding: 'utf8' });
  const { recorded_with, ...recording } = JSON.parse(text);
  return recording;
}

function main(write) {
  let wrong = 0;
  for (const api of fs.readdirSync(TESTDATA).filter((name) => !name.includes('.'))) {
    for (const base of fs.readdirSync(path.join(TESTDATA, api))) {
      const file = path.join(TESTDATA, api, base);
      const entries = JSON.parse(fs.readFileSync(file, 'utf8'));
      for (const { scenario, recording, go } of entries.filter((entry) => entry.go)) {
        const done = observe(scenario);
        const complaints = [];
        if (!go.difference || !go.reason) complaints.push('has no difference or no reason');
        if (compared(done) === compared(recording)) complaints.push('is no difference: Node does the same');
        if (compared(done) !== compared(go.recording || {})) {
          complaints.push(`Go does\n${pretty(done)}`);
          if (write) go.recording = done;
        }
        wrong += complaints.length;
        for (const complaint of complaints) console.log(`${api}/${base}: ${scenario.name}: ${complaint}`);
      }
      if (write) fs.writeFileSync(file, pretty(entries) + '\n');
    }
  }
  if (wrong) process.exitCode = 1;
}

const args = process.argv.slice(2);
if (args.length > 1 || (args.length && args[0] !== '--write')) {
  console.error('usage: node differences.js [--write]');
  process.exitCode = 2;
} else {
  main(args.length > 0);
}

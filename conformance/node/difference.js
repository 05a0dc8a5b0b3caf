'use strict';

// node difference.js TESTDATA-FILE SCENARIO DIFFERENCE REASON
//
// Gives an entry the `go` part that a listed difference needs: what the Go engine
// does in the scenario, which difference of the contract it is, and why. Nobody else
// has said what is right there, so read the diff of the file before committing it.

const { execFileSync } = require('child_process');
const fs = require('fs');
const path = require('path');
const { pretty } = require('./format');

const [file, name, difference, reason] = process.argv.slice(2);
if (!reason) {
  console.error('usage: node difference.js TESTDATA-FILE SCENARIO DIFFERENCE REASON');
  process.exit(2);
}
const entries = JSON.parse(fs.readFileSync(file, 'utf8'));
const entry = entries.find(({ scenario }) => scenario.name === name);
if (!entry) {
  console.error(`${file} has no scenario ${JSON.stringify(name)}`);
  process.exit(2);
}
const output = execFileSync('go', ['run', './conformance/conform', 'observe', '-'], {
  cwd: path.join(__dirname, '..', '..'),
  input: JSON.stringify(entry.scenario),
  stdio: ['pipe', 'pipe', 'inherit'],
});
entry.go = { difference, reason, recording: JSON.parse(output) };
fs.writeFileSync(file, pretty(entries) + '\n');

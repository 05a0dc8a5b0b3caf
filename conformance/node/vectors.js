'use strict';

// What errnos.js and filetime.js share: a file of testdata that a script asks from
// Node, and compares with --check.

const fs = require('fs');
const path = require('path');
const { line, pretty } = require('./format');

const file = (name) => path.join(__dirname, '..', '..', 'testdata', name);

function read(name) {
  return fs.existsSync(file(name)) ? JSON.parse(fs.readFileSync(file(name), 'utf8')) : {};
}

// asked: section → list of vectors. Of what is committed, `kept` says which vectors
// this Node cannot be asked; they stay, after the others or in the `order` given.
function writeOrCheck(name, asked, kept, order) {
  const committed = read(name);
  const sections = { ...committed };
  let [count, wrong] = [0, 0];
  for (const [section, list] of Object.entries(asked)) {
    const before = committed[section] || [];
    sections[section] = list.concat(before.filter((vector) => kept(section, vector)));
    if (order) sections[section].sort(order);
    const known = new Set(before.map(line));
    const differ = list.filter((vector) => !known.has(line(vector)));
    count += list.length;
    wrong += differ.length + Math.abs(before.length - sections[section].length);
    if (process.argv[2] === '--check') {
      differ.slice(0, 10).forEach((vector) => console.log(`testdata/${name}: ${section}: now ${line(vector)}`));
    }
  }
  if (process.argv[2] !== '--check') {
    fs.writeFileSync(file(name), pretty(sections) + '\n');
    return;
  }
  console.log(`${process.version}: ${count} vectors of ${name} checked, ${wrong} differ`);
  if (wrong) process.exitCode = 1;
}

module.exports = { writeOrCheck };

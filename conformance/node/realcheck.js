'use strict';

// node realcheck.js [CALLS] [SEED]: makes the same random calls of the in-memory
// filesystem and of the real one, in a temporary directory, and compares what each
// returns or throws, what is left, and which times moved. Linux only.

const fs = require('fs');
const os = require('os');
const path = require('path');
const { line } = require('./format');
const { ROOT } = require('./filesystem');
const { World } = require('./world');

const calls = Number(process.argv[2] || 3000);
let seed = Number(process.argv[3] || 1);
const random = (n) => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 65536) % n; };
const choose = (list) => list[random(list.length)];

const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'realcheck-')));
process.chdir(dir);
const world = new World({});

const place = () => choose(['a', 'b', 'd', 'd/a', 'd/b', 'd/e', 'd/e/a', 'l', 'm', 'd/l', 'n/a',
  'a/', 'd/', 'l/', 'd/e/', '.', '..', 'd/.', 'd/..', 'd/../a', './b', 'd//a', 'x'.repeat(256), 'd/' + 'é'.repeat(128), '']);
const target = () => choose(['a', 'b', 'd', 'l', 'm', 'd/l', 'd/e', '../a', '.', 'nowhere', 'd/', 'a/', 'l/x', 'e']);

// What happened, with the roots taken out.
function outcome(root, call) {
  const strip = (text) => text.split(root + '/').join('').split(root).join('');
  try {
    const value = call();
    return typeof value === 'string' ? { value: strip(value) } : { value: Array.isArray(value) ? value : null };
  } catch (err) {
    if (!err.code) throw err;
    const { code, errno, syscall, path: p, dest } = err;
    return { message: strip(err.message), code, errno, syscall, path: p && strip(p), dest };
  }
}

function real(prefix = '') {
  return fs.readdirSync(prefix || '.').reduce((found, name) => {
    const p = prefix + name;
    const st = fs.lstatSync(p, { bigint: true });
    const type = st.isDirectory() ? 'dir' : st.isSymbolicLink() ? 'symlink' : 'file';
    found.push([p, { type, nlink: type === 'dir' ? 1 : Number(st.nlink), mtime: st.mtimeNs, ctime: st.ctimeNs }]);
    return type === 'dir' ? found.concat(real(p + '/')) : found;
  }, []).sort(([a], [b]) => (a < b ? -1 : 1));
}

// Each file, and which of its times are not as they were.
function describe(list, before) {
  return list.map(([p, { type, nlink, mtime, ctime }]) => {
    const old = before.get(p) || {};
    before.set(p, { mtime, ctime });
    return [p, type, nlink, old.mtime !== mtime, old.ctime !== ctime];
  });
}

const sleep = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

const [worldTimes, realTimes] = [new Map(), new Map()];
let wrong = 0;
for (let i = 0; i < calls && wrong < 5; i++) {
  const call = choose(['open wx', 'open r', 'stat', 'lstat', 'unlink', 'mkdir', 'mkdir', 'rmdir', 'realpath', 'link',
    'link', 'rename', 'utimes', 'symlink', 'symlink']);
  const [a, b, to] = [place(), place(), target()];
  const when = 1600000000 + random(1000000) / 1000;
  const make = (api, { symlink, rename }) => ({
    'open wx': () => { api.closeSync(api.openSync(a, 'wx')); },
    'open r': () => { api.closeSync(api.openSync(a, 'r')); },
    stat: () => { api.statSync(a); },
    lstat: () => { api.lstatSync(a); },
    unlink: () => api.unlinkSync(a),
    mkdir: () => { api.mkdirSync(a); },
    rmdir: () => api.rmdirSync(a),
    realpath: () => api.realpathSync(a),
    link: () => api.linkSync(a, b),
    utimes: () => api.utimesSync(a, when, when),
    rename: () => rename(a, b),
    symlink: () => symlink(to, a),
  }[call]);
  // What is outside the root is not alike.
  if (call === 'realpath' && a === '..') continue;
  sleep(6);
  world.time++;
  let pair = [
    outcome(ROOT, make(world.fs, {
      symlink: (t, p) => world.filesystem.symlink(t, p),
      rename: (from, p) => world.filesystem.rename(from, p),
    })),
    outcome(dir, make(fs, { symlink: fs.symlinkSync, rename: fs.renameSync })),
  ];
  // Only other participants do these: all that counts is whether they fail.
  if (call === 'symlink' || call === 'rename') pair = pair.map(({ code }) => Boolean(code));
  const left = [describe(world.filesystem.list(), worldTimes), describe(real(), realTimes)];
  for (const [what, [ours, theirs]] of [['outcome', pair], ['left', left]]) {
    if (line(ours) === line(theirs)) continue;
    wrong++;
    console.log(`${i}: ${call} ${line([a, b, to].map((s) => s.slice(0, 20)))}: ${what}\n  world ${line(ours)}\n  real  ${line(theirs)}`);
  }
}
process.chdir('/');
fs.rmSync ? fs.rmSync(dir, { recursive: true }) : fs.rmdirSync(dir, { recursive: true });
console.log(`${process.version}: ${calls} calls, ${wrong} differ`);
process.exitCode = wrong ? 1 : 0;

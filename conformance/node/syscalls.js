'use strict';

// Node's fs module over the in-memory filesystem: each call is traced, can be made
// to fail, and fails with the error that Node would give.

const util = require('util');
const posix = require('path').posix;
const { ROOT, relative } = require('./filesystem');
const { cut, statMs } = require('./times');

const ERRORS = new Map([...util.getSystemErrorMap()].map(([errno, [code, text]]) => [code, { errno, text }]));

// The calls by their name in a trace, and how many of their arguments are paths.
const PATHS = {
  open: 1, stat: 1, lstat: 1, unlink: 1, mkdir: 1, rmdir: 1, realpath: 1, utimes: 1, link: 2, close: 0, fstat: 0,
};

// Others that a scenario may name; the packages recorded here do not make them.
const UNUSED = ['rename', 'readdir'];

// What Node calls it in an error, where that is another name.
const SYSCALL = { utimes: 'utime', realpath: 'lstat' };

// The error that Node makes of a failed call: uvException's wording and fields.
function nodeError(code, syscall, path, dest) {
  const { errno, text } = ERRORS.get(code);
  let message = `${code}: ${text}, ${syscall}`;
  if (path !== undefined) message += ` '${path}'`;
  if (dest !== undefined) message += ` -> '${dest}'`;
  const err = Object.assign(new Error(message), { errno, code, syscall });
  if (path !== undefined) err.path = path;
  if (dest !== undefined) err.dest = dest;
  return err;
}

// Node takes seconds, or a Date.
const inSeconds = (time) => (typeof time === 'number' ? time : time.getTime() / 1000);

class Faults {
  constructor(list) { this.list = list.map((fault) => ({ ...fault, seen: 0 })); }

  // Counts the call in every fault that matches it; the first that applies wins.
  hit(syscall, paths) {
    let hit;
    for (const fault of this.list) {
      if (fault.syscall !== syscall) continue;
      if (fault.path !== undefined && !paths.includes(fault.path)) continue;
      fault.seen++;
      const applies = fault.call ? fault.seen === fault.call : fault.seen >= (fault.from || 1);
      if (applies && !hit) hit = fault;
    }
    return hit;
  }
}

// world: { filesystem, faults, epoch, trace(event), later(fn), Date }.
function makeFs(world) {
  const { filesystem } = world;

  const stats = (node) => ({
    mtime: new world.Date(statMs(node.mtime)),
    ctime: new world.Date(statMs(node.ctime)),
    uid: 0,
    gid: 0,
  });

  const operations = {
    open: (path, flags) => filesystem.open(path, flags),
    close: (fd) => filesystem.close(fd),
    fstat: (fd) => stats(filesystem.fstat(fd)),
    stat: (path) => stats(filesystem.stat(path)),
    lstat: (path) => stats(filesystem.lstat(path)),
    unlink: (path) => filesystem.unlink(path),
    mkdir: (path) => filesystem.mkdir(path),
    rmdir: (path) => filesystem.rmdir(path),
    realpath: (path) => filesystem.realpath(posix.resolve(ROOT, path)),
    link: (from, to) => filesystem.link(from, to),
    utimes: (path, atime, mtime) => filesystem.utimes(path, cut(inSeconds(mtime))),
  };

  const traced = {
    open: (path, flags) => [path, flags],
    utimes: (path, atime, mtime) => [path, Math.round(inSeconds(mtime) * 1000) - world.epoch],
  };

  // Makes the call at once. Returns its result or throws Node's error.
  function perform(syscall, args) {
    const paths = args.slice(0, PATHS[syscall]);
    const touched = PATHS[syscall] === 0 ? [filesystem.openedBy(args[0]) || ''] : paths;
    const shown = (traced[syscall] || (() => paths))(...args);
    const trace = (ret) => world.trace({
      sys: syscall,
      args: shown.map((arg) => (typeof arg === 'string' ? relative(arg) : arg)),
      ret,
    });

    const fault = world.faults.hit(syscall, touched.map(relative));
    let failure = fault;
    let result;
    // A close that fails has closed all the same.
    if (!fault || fault.after || syscall === 'close') {
      try {
        result = operations[syscall](...args);
        // An open that fails hands out no descriptor.
        if (fault && syscall === 'open') filesystem.close(result);
      } catch (err) {
        if (!err.code) throw err;
        failure = failure || err;
      }
    }
    trace(failure ? failure.code : 'ok');
    if (!failure) return result;
    const [path, dest] = syscall === 'realpath' ? [posix.resolve(ROOT, paths[0])] : paths;
    // realpath's own failures say what they were and of what; an injected one does not.
    const own = fault ? {} : failure;
    throw nodeError(failure.code, own.syscall || SYSCALL[syscall] || syscall, own.path || path, dest);
  }

  const fs = {};
  for (const syscall of Object.keys(operations)) {
    fs[syscall + 'Sync'] = (...args) => perform(syscall, args);
    fs[syscall] = (...args) => {
      const callback = args.pop();
      let outcome;
      try {
        outcome = [null, perform(syscall, args)];
      } catch (err) {
        if (!err.code) throw err;
        outcome = [err];
      }
      world.later(() => callback(...outcome));
    };
  }
  return fs;
}

module.exports = { makeFs, Faults, ERRORS, SYSCALLS: [...Object.keys(PATHS), ...UNUSED] };

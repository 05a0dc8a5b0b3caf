'use strict';

// The virtual world: one clock, one filesystem, one queue of events. FORMAT.md has
// its rules.

const EventEmitter = require('events');
const { Filesystem } = require('./filesystem');
const { makeFs, Faults } = require('./syscalls');
const { GRAINS, fromMs } = require('./times');

// Node's longest timer; a longer one fires after 1 ms.
const LONGEST_TIMER = 2147483647;

class World {
  constructor(scenario) {
    this.epoch = scenario.epoch === undefined ? 1700000000000 : scenario.epoch;
    this.horizon = scenario.until === undefined ? 120000 : scenario.until;
    this.time = 0;
    this.jumped = 0;
    this.queue = [];
    this.sequence = 0;
    this.events = [];
    this.faults = new Faults(scenario.faults || []);
    this.filesystem = new Filesystem(() => fromMs(this.now()), GRAINS[scenario.timestamps || 'ns']);
    this.place(scenario.files || {});
    // Ahead of everything else that is due then, and in the order listed.
    for (const event of scenario.world || []) this.schedule(event.at, () => this.happen(event), 0);
    this.Date = this.makeDate();
    this.fs = makeFs(this);
    this.process = this.makeProcess();
  }

  // The wall clock. Time proper, which timers follow, does not jump.
  now() { return this.epoch + this.time + this.jumped; }

  trace(event) { this.events.push({ t: this.time, ...event }); }

  schedule(due, run, rank = 1) {
    const entry = { due, rank, sequence: this.sequence++, run };
    const before = (a, b) => a.due - b.due || a.rank - b.rank || a.sequence - b.sequence;
    const at = this.queue.findIndex((other) => before(entry, other) < 0);
    this.queue.splice(at < 0 ? this.queue.length : at, 0, entry);
    return entry;
  }

  // Delivers what is complete: an event of its own, before time moves.
  later(run) { this.schedule(this.time, run); }

  // When the next event is due, or Infinity.
  nextDue() { return this.queue.length ? this.queue[0].due : Infinity; }

  runNext() { this.queue.shift().run(); }

  place(files) {
    const { filesystem } = this;
    const placed = [];
    const parents = (path) => path.split('/').slice(0, -1).map((_, i, names) => names.slice(0, i + 1).join('/'));
    for (const path of Object.keys(files).sort()) {
      for (const parent of parents(path)) {
        if (!filesystem.list().some(([there]) => there === parent)) filesystem.mkdir(parent);
      }
      const file = files[path];
      if (file.type === 'file') filesystem.close(filesystem.open(path, 'wx'));
      else if (file.type === 'dir') filesystem.mkdir(path);
      else filesystem.symlink(file.to, path);
      placed.push([filesystem.lstat(path), file]);
    }
    filesystem.nextDescriptor = 3;
    // Last, because placing an entry touches its directory.
    for (const [node, { age = 0, mtime_age = age, ctime_age = age }] of placed) {
      filesystem.setTimes(node, fromMs(this.epoch) - fromMs(mtime_age), fromMs(this.epoch) - fromMs(ctime_age));
    }
  }

  // What another participant does. What fails is skipped.
  happen({ do: what, path, type, to, skew = 0, by }) {
    const { filesystem } = this;
    const deeds = {
      create: () => {
        if (type === 'dir') filesystem.mkdir(path);
        else if (type === 'symlink') filesystem.symlink(to, path);
        else filesystem.close(filesystem.open(path, 'wx'));
      },
      unlink: () => filesystem.unlink(path),
      mkdir: () => filesystem.mkdir(path),
      rmdir: () => filesystem.rmdir(path),
      rename: () => filesystem.rename(path, to),
      touch: () => filesystem.utimes(path, fromMs(this.now()) + fromMs(skew)),
      jump: () => { this.jumped += by; },
    };
    try {
      deeds[what]();
    } catch (err) {
      if (!err.code) throw err;
    }
  }

  setTimeout(fn, after) {
    let ms = Math.trunc(after * 1);
    if (!(after >= 1 && after <= LONGEST_TIMER)) ms = 1;
    this.trace({ sys: 'timer', args: [ms] });
    const entry = this.schedule(this.time + ms, fn);
    // The run has a horizon of its own: a timer never keeps it going or lets it end.
    return Object.assign(entry, { ref() { return entry; }, unref() { return entry; } });
  }

  clearTimeout(entry) {
    const at = this.queue.indexOf(entry);
    if (at >= 0) this.queue.splice(at, 1);
  }

  makeDate() {
    const world = this;
    return class extends Date {
      constructor(...args) { super(...(args.length ? args : [world.now()])); }

      static now() { return world.now(); }
    };
  }

  // As much of process as signal-exit wants. Emitting `exit` on it is the exit.
  makeProcess() {
    const { ROOT } = require('./filesystem');
    return Object.assign(new EventEmitter(), {
      cwd: () => ROOT,
      chdir() {},
      kill() {},
      reallyExit() {},
      pid: 1,
      env: {},
      platform: 'linux',
      version: process.version,
      nextTick: process.nextTick,
    });
  }
}

module.exports = { World };

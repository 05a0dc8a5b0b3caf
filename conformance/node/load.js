'use strict';

// Loads a package, and all that it requires, anew into a world: the published
// source runs with the world's fs, clock, timers and process for its own.

const fs = require('fs');
const path = require('path');
const vm = require('vm');
const { createRequire, builtinModules } = require('module');
const { ROOT } = require('./filesystem');

const NAMES = ['exports', 'require', 'module', '__filename', '__dirname',
  'global', 'process', 'Date', 'setTimeout', 'clearTimeout'];

const compiled = new Map();

function compile(filename) {
  if (!compiled.has(filename)) {
    const source = fs.readFileSync(filename, 'utf8');
    compiled.set(filename, vm.runInThisContext(`(function (${NAMES.join(', ')}) {${source}\n})`, { filename }));
  }
  return compiled.get(filename);
}

function load(name, world) {
  const replaced = {
    fs: world.fs,
    // path.resolve asks the real process for its directory.
    path: { ...path.posix, resolve: (...names) => path.posix.resolve(ROOT, ...names) },
  };
  const scope = {
    process: world.process,
    Date: world.Date,
    setTimeout: (fn, ms) => world.setTimeout(fn, ms),
    clearTimeout: (timer) => world.clearTimeout(timer),
  };
  scope.global = { process: world.process };
  const loaded = new Map();

  function requireFrom(filename) {
    const real = createRequire(filename);
    return (id) => {
      if (id in replaced) return replaced[id];
      if (builtinModules.includes(id)) return real(id);
      return evaluate(real.resolve(id));
    };
  }

  function evaluate(filename) {
    if (filename.endsWith('.json')) return JSON.parse(fs.readFileSync(filename, 'utf8'));
    if (!loaded.has(filename)) {
      const module = { exports: {} };
      loaded.set(filename, module);
      const args = {
        exports: module.exports, require: requireFrom(filename), module,
        __filename: filename, __dirname: path.dirname(filename), ...scope,
      };
      compile(filename).apply(module.exports, NAMES.map((n) => args[n]));
    }
    return loaded.get(filename).exports;
  }

  return requireFrom(__filename)(name);
}

module.exports = { load };

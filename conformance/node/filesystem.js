'use strict';

// An in-memory POSIX filesystem: what Linux does for the calls that the packages
// make, without permissions. Failures are thrown as a Failure with Linux's code;
// syscalls.js words them as Node does.

const posix = require('path').posix;
const { floorTo } = require('./times');

// Where the world's root stands. The packages make paths absolute, so it needs a
// name; recordings never show it.
const ROOT = '/world';

class Failure extends Error {
  constructor(code, { syscall, path } = {}) {
    super(code);
    Object.assign(this, { code, syscall, path });
  }
}

const fail = (code) => { throw new Failure(code); };

const relative = (path) => (path.startsWith(ROOT + '/') ? path.slice(ROOT.length + 1) : path);

class Filesystem {
  // now() is the wall clock in ns; grain is the smallest step of a file time in ns.
  constructor(now, grain) {
    this.now = now;
    this.grain = grain;
    this.top = this.inode('dir');
    this.root = this.inode('dir');
    this.insert(this.top, ROOT.slice(1), this.root);
    this.descriptors = new Map();
    this.nextDescriptor = 3;
  }

  inode(type, to) {
    const node = { type, to, nlink: 0, mtime: 0n, ctime: 0n };
    if (type === 'dir') node.entries = new Map();
    this.setTimes(node, this.now());
    return node;
  }

  setTimes(node, mtime, ctime = mtime) {
    node.mtime = floorTo(mtime, this.grain);
    node.ctime = floorTo(ctime, this.grain);
  }

  changed(node) { node.ctime = floorTo(this.now(), this.grain); }

  insert(dir, name, node) {
    dir.entries.set(name, node);
    if (node.type === 'dir') node.parent = dir;
    node.nlink++;
    this.setTimes(dir, this.now());
  }

  remove(dir, name) {
    const node = dir.entries.get(name);
    dir.entries.delete(name);
    node.nlink--;
    this.changed(node);
    this.setTimes(dir, this.now());
  }

  // Finds the place that a path names: the directory, the name in it, and the node
  // there if there is one. `slash`: the path ends so that it can only be a directory.
  // A last component `.` or `..` has no name of its own: `dot`.
  walk(path, follow) {
    if (path === '') fail('ENOENT');
    if (Buffer.byteLength(relative(path)) > 4095) fail('ENAMETOOLONG');
    const split = (p) => p.split('/').filter((name) => name !== '');
    let dir = path.startsWith('/') ? this.top : this.root;
    let slash = path.endsWith('/');
    let todo = split(path);
    let links = 0;
    for (;;) {
      if (todo.length === 0) return { node: dir, dot: '.' };
      const [name, ...rest] = todo;
      const last = rest.length === 0;
      if (Buffer.byteLength(name) > 255) fail('ENAMETOOLONG');
      if (name === '.' || name === '..') {
        if (name === '..') dir = dir.parent || dir;
        if (last) return { node: dir, dot: name };
        todo = rest;
        continue;
      }
      const node = dir.entries.get(name);
      if (node && node.type === 'symlink' && (!last || follow)) {
        if (++links > 40) fail('ELOOP');
        if (last && node.to.endsWith('/')) slash = true;
        if (node.to.startsWith('/')) dir = this.top;
        todo = [...split(node.to), ...rest];
        continue;
      }
      if (last) return { dir, name, node, slash };
      if (!node) fail('ENOENT');
      if (node.type !== 'dir') fail('ENOTDIR');
      dir = node;
      todo = rest;
    }
  }

  // The node that a path names, or ENOENT.
  find(path, follow) {
    const { node, slash } = this.walk(path, follow || path.endsWith('/'));
    if (!node) fail('ENOENT');
    if (slash && node.type !== 'dir') fail('ENOTDIR');
    return node;
  }

  open(path, flags) {
    let node;
    if (flags === 'wx') {
      const place = this.walk(path, false);
      if (place.slash) fail('EISDIR');
      if (place.node) fail('EEXIST');
      node = this.inode('file');
      this.insert(place.dir, place.name, node);
    } else {
      node = this.find(path, true);
    }
    const fd = this.nextDescriptor++;
    this.descriptors.set(fd, { node, path });
    return fd;
  }

  openedBy(fd) {
    const descriptor = this.descriptors.get(fd);
    return descriptor && descriptor.path;
  }

  close(fd) { if (!this.descriptors.delete(fd)) fail('EBADF'); }

  fstat(fd) { return (this.descriptors.get(fd) || fail('EBADF')).node; }

  stat(path) { return this.find(path, true); }

  lstat(path) { return this.find(path, false); }

  utimes(path, mtime) {
    const node = this.find(path, true);
    this.setTimes(node, mtime, this.now());
  }

  mkdir(path) {
    const place = this.walk(path, false);
    if (place.node) fail('EEXIST');
    this.insert(place.dir, place.name, this.inode('dir'));
  }

  symlink(to, path) {
    const place = this.walk(path, false);
    if (place.node) fail('EEXIST');
    if (place.slash) fail('ENOENT');
    this.insert(place.dir, place.name, this.inode('symlink', to));
  }

  unlink(path) {
    const place = this.walk(path, false);
    if (!place.node) fail('ENOENT');
    if (place.node.type === 'dir') fail('EISDIR');
    if (place.slash) fail('ENOTDIR');
    this.remove(place.dir, place.name);
  }

  rmdir(path) {
    const place = this.walk(path, false);
    if (place.dot) fail({ '.': 'EINVAL', '..': 'ENOTEMPTY' }[place.dot]);
    if (!place.node) fail('ENOENT');
    if (place.node.type !== 'dir') fail('ENOTDIR');
    if (place.node.entries.size > 0) fail('ENOTEMPTY');
    this.remove(place.dir, place.name);
  }

  link(from, to) {
    const node = this.find(from, false);
    const place = this.walk(to, false);
    if (place.node) fail('EEXIST');
    if (place.slash) fail('ENOENT');
    if (node.type === 'dir') fail('EPERM');
    this.insert(place.dir, place.name, node);
    this.changed(node);
  }

  // Only other participants rename, and which error it is does not matter to them.
  rename(from, to) {
    const source = this.walk(from, false);
    const target = this.walk(to, false);
    if (source.dot || target.dot) fail('EBUSY');
    if (!source.node) fail('ENOENT');
    const isDir = source.node.type === 'dir';
    if (!isDir && (source.slash || target.slash)) fail('ENOTDIR');
    for (let dir = target.dir; isDir && dir; dir = dir.parent) if (dir === source.node) fail('EINVAL');
    if (target.node === source.node) return;
    if (target.node) {
      if (isDir && target.node.type !== 'dir') fail('ENOTDIR');
      if (!isDir && target.node.type === 'dir') fail('EISDIR');
      if (isDir && target.node.entries.size > 0) fail('ENOTEMPTY');
      this.remove(target.dir, target.name);
    }
    this.remove(source.dir, source.name);
    this.insert(target.dir, target.name, source.node);
  }

  // Node resolves symlinks in JavaScript: lstat of each prefix, then stat of each
  // that is a link. The failure says which of the two it was, and of what. `path`
  // is absolute and has no dots.
  realpath(path) {
    const names = path.split('/').filter((name) => name !== '');
    let base = '';
    for (let i = 0; i < names.length; i++) {
      const above = base;
      base += '/' + names[i];
      const look = (syscall) => {
        try {
          return this[syscall](base);
        } catch (err) {
          throw new Failure(err.code, { syscall, path: base });
        }
      };
      const node = look('lstat');
      if (node.type !== 'symlink') continue;
      look('stat');
      const target = posix.resolve(above || '/', node.to, ...names.slice(i + 1));
      return this.realpath(target);
    }
    return base || '/';
  }

  // Everything below the root: [path, node], sorted by path.
  list() {
    const found = [];
    const visit = (dir, prefix) => dir.entries.forEach((node, name) => {
      found.push([prefix + name, node]);
      if (node.type === 'dir') visit(node, prefix + name + '/');
    });
    visit(this.root, '');
    return found.sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

module.exports = { Filesystem, Failure, ROOT, relative };

'use strict';

// node errnos.js [--check]: testdata/errno.json, the errors that Node knows on Linux,
// with libuv's numbers and texts. Newer versions know more; none is dropped.

const util = require('util');
const { writeOrCheck } = require('./vectors');

const linux = [...util.getSystemErrorMap()].map(([errno, [code, text]]) => ({ code, errno, text }));
const known = new Set(linux.map(({ code }) => code));
const byCode = (a, b) => (a.code < b.code ? -1 : 1);
writeOrCheck('errno.json', { linux }, (section, { code }) => !known.has(code), byCode);

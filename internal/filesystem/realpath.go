package filesystem

import (
	"slices"
	"strings"

	"github.com/seed-c461eb89/nodelock/internal/nodeerror"
)

// Realpath returns the absolute path of what is at path, without links; an empty path
// is the working directory. It goes as Node's fs.realpath does (and not as the
// system's realpath, which Node has as fs.realpath.native): an lstat of each component
// from the root on, and for a link a stat and a readlink, after which it starts over
// with the link replaced. So the error is "lstat" with the path of the first component
// that is missing, or "stat" with that of a link that leads nowhere.
func (OS) Realpath(path string) (string, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return "", nodeerror.NullByte("realpath", path)
	}
	base := ""
	if !isAbsolute(path) {
		var err error
		if base, err = (OS{}).Getwd(); err != nil {
			return "", err
		}
	}
	return realpath(resolve(base, path))
}

// maxLinks bounds how many links realpath replaces. Node has no bound; without one,
// links that are exchanged all the while could lead it round forever.
const maxLinks = 10000

// realpath is Realpath for a path that resolve has returned.
func realpath(p string) (string, error) {
	var (
		hard    []string                // paths seen not to be links
		targets = map[identity]string{} // what the links seen so far hold
		links   = 0
	)
	pos, err := passRoot(p, &hard)
	for err == nil && pos < len(p) {
		// The component is p[pos:end]; what comes before it has no links.
		end := pos
		for end < len(p) && !isSeparator(p[end]) {
			end++
		}
		before, name := p[:pos], p[:end]
		pos = min(end+1, len(p))
		// Only after starting over is there anything to be met again.
		if links > 0 && slices.Contains(hard, name) {
			continue
		}
		stat, id, err := identify(name)
		if err != nil {
			return "", failed("lstat", name, err)
		}
		if stat.Type != Symlink {
			hard = append(hard, name)
			continue
		}
		if links++; links > maxLinks {
			return "", failed("stat", name, codedError("ELOOP"))
		}
		target, known := targets[id]
		if !known || !identified {
			if target, err = follow(name); err != nil {
				return "", err
			}
			targets[id] = target
		}
		p = resolve(resolve(before, target), p[pos:])
		if pos, err = passRoot(p, &hard); err != nil {
			return "", err
		}
	}
	return p, err
}

// follow returns what a link holds, if it leads anywhere.
func follow(name string) (target string, err error) {
	if _, err := stat(name); err != nil {
		return "", failed("stat", name, err)
	}
	if target, err = readlink(name); err != nil {
		return "", failed("readlink", name, err)
	}
	return target, nil
}

// passRoot returns where the first component of p starts. On Windows it looks whether
// the drive is there.
func passRoot(p string, hard *[]string) (int, error) {
	root := p[:rootLength(p)]
	if checksRoot && !slices.Contains(*hard, root) {
		if _, err := lstat(root); err != nil {
			return 0, failed("lstat", root, err)
		}
		*hard = append(*hard, root)
	}
	return len(root), nil
}

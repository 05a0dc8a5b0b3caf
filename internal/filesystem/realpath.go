package filesystem

import (
	"strings"

	"github.com/seed-c461eb89/nodelock/internal/callerror"
)

// Realpath returns the absolute path of what is at path, without links; an empty path
// is the working directory. It goes as Node's fs.realpath does (and not as the
// system's realpath, which Node has as fs.realpath.native): an lstat of each component
// from the root on, and for a link a stat and a readlink, after which it starts over
// with the link replaced. So the error is "lstat" with the path of the first component
// that is missing, or "stat" with that of a link that leads nowhere.
func (OS) Realpath(path string) (string, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return "", callerror.NullByte("realpath", path)
	}
	path, err := OS{}.Resolve(path)
	if err != nil {
		return "", err
	}
	return realpath(path)
}

// maxLinks bounds how many links realpath replaces. Node has no bound; without one,
// links that are exchanged all the while could lead it round forever.
const maxLinks = 10000

// realpath is Realpath for a path that resolve has returned.
func realpath(p string) (string, error) {
	pos, err := startOver(p, "")
	if err != nil {
		return "", err
	}
	for links := 0; pos < len(p); {
		// The component is p[pos:end]; what comes before it has no links.
		end := pos
		for end < len(p) && !isSeparator(p[end]) {
			end++
		}
		before, name := p[:pos], p[:end]
		pos = min(end+1, len(p))
		symlink, err := isSymlink(name)
		if err != nil {
			return "", failed("lstat", name, err)
		}
		if !symlink {
			continue
		}
		if links++; links > maxLinks {
			return "", failed("stat", name, codedError("ELOOP"))
		}
		if _, err := stat(name); err != nil {
			return "", failed("stat", name, err)
		}
		target, err := readlink(name)
		if err != nil {
			return "", failed("readlink", name, err)
		}
		p = resolve(resolve(before, target), p[pos:])
		if pos, err = startOver(p, before); err != nil {
			return "", err
		}
	}
	return p, nil
}

// startOver returns where to go on in p: after what p has in common with the path
// before, which has no links, or else after p's root. On Windows a new root must be
// there. (Node remembers all the components that it has seen and asks for none of them
// twice, which is the same path with a call less here and there.)
func startOver(p, before string) (int, error) {
	pos := 0
	for i := 0; i < len(p) && i < len(before) && p[i] == before[i]; i++ {
		if isSeparator(p[i]) {
			pos = i + 1
		}
	}
	root := rootLength(p)
	if pos >= root {
		return pos, nil
	}
	if checksRoot {
		if _, err := lstat(p[:root]); err != nil {
			return 0, failed("lstat", p[:root], err)
		}
	}
	return root, nil
}

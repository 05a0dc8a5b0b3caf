package filesystem

import (
	"path/filepath"
	"strings"
	"syscall"
)

// checksRoot says that realpath looks at the root too.
const checksRoot = true

// resolve returns p as an absolute path without ".", ".." and doubled or trailing
// separators, p being relative to the absolute path base. Unlike GetFullPathName it
// knows no devices and keeps a trailing dot or space, as Node's path.resolve does.
func resolve(base, p string) string {
	volume := filepath.VolumeName(p)
	rest := p[len(volume):]
	rooted := rest != "" && isSeparator(rest[0])
	switch {
	case volume != "" && (rooted || isSeparator(volume[0])):
		// complete, or a share without a path
	case volume != "":
		// relative to the working directory of a drive
		base = driveDirectory(volume, base)
		rest = base[len(volume):] + `\` + rest
	case rooted:
		volume = filepath.VolumeName(base)
	default:
		volume = filepath.VolumeName(base)
		rest = base[len(volume):] + `\` + rest
	}
	return filepath.Clean(volume + `\` + rest)
}

// driveDirectory returns the working directory of a drive, which the environment
// holds, or else base if it is on that drive, or else the drive's root.
func driveDirectory(drive, base string) string {
	if directory, ok := syscall.Getenv("=" + drive); ok {
		base = directory
	}
	if strings.EqualFold(filepath.VolumeName(base), drive) {
		return base
	}
	return drive + `\`
}

func isAbsolute(p string) bool { return filepath.IsAbs(p) }

// rootLength returns how much of an absolute path is its root.
func rootLength(p string) int {
	n := len(filepath.VolumeName(p))
	for n < len(p) && isSeparator(p[n]) {
		n++
	}
	return n
}

func isSeparator(c byte) bool { return c == '\\' || c == '/' }

// namespaced returns p as Node hands it to the system, and converted for it: absolute
// and with the prefix that lifts the limit of 260 characters and keeps the system from
// seeing devices in names such as "nul". An empty path stays empty, so that it fails.
func namespaced(p string) (*uint16, error) {
	if p == "" || strings.IndexByte(p, 0) >= 0 {
		return syscall.UTF16PtrFromString(p)
	}
	base := ""
	if !isAbsolute(p) {
		var err error
		if base, err = getwd(); err != nil {
			return nil, err
		}
	}
	full := resolve(base, p)
	switch {
	case strings.HasPrefix(full, `\\?\`), strings.HasPrefix(full, `\\.\`):
	case strings.HasPrefix(full, `\\`):
		full = `\\?\UNC\` + full[2:]
	default:
		full = `\\?\` + full
	}
	return syscall.UTF16PtrFromString(full)
}

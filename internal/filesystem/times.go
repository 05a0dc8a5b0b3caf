package filesystem

import "time"

// Futimes sets the times of the file that h has open, wherever that is by now. Where the
// system has no such call (Solaris, AIX) it sets those of what is at path. A filesystem
// keeps them as exactly as it can. It fails as "futime".
func (OS) Futimes(h Handle, path string, atime, mtime time.Time) error {
	if err := futimes(h, path, atime, mtime); err != nil {
		return failed("futime", "", err)
	}
	return nil
}

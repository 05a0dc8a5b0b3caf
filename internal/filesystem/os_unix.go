//go:build unix

package filesystem

import (
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// libuv repeats every call but close that a signal breaks off, and so do these. Some are
// package syscall's, because package unix does not have them on every system.

func openExclusive(path string) (Handle, error) {
	return open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC)
}

// openRead opens without waiting, which Node does not: on a FIFO that somebody put in
// the lock's place Node's open never returns. On a regular file this changes nothing,
// save that a file under a lease (Samba's, say) is refused instead of waited for, so
// then it is opened again the plain way.
func openRead(path string) (Handle, error) {
	h, err := open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK)
	if err == unix.EAGAIN {
		h, err = open(path, unix.O_RDONLY|unix.O_CLOEXEC)
	}
	return h, err
}

func open(path string, flags int) (Handle, error) {
	for {
		fd, err := unix.Open(path, flags, 0o666)
		if err == nil {
			return Handle(fd), nil
		}
		if err != unix.EINTR {
			return noHandle, err
		}
	}
}

// closeHandle takes a close that a signal broke off as done, as libuv does: the
// descriptor may be another's by now, so it cannot be closed again.
func closeHandle(h Handle) error {
	err := unix.Close(int(h))
	if err == unix.EINTR || err == unix.EINPROGRESS {
		return nil
	}
	return err
}

func fstat(h Handle) (stat Stat, err error) {
	var st unix.Stat_t
	for {
		if err = unix.Fstat(int(h), &st); err != unix.EINTR {
			break
		}
	}
	if err == nil {
		stat = statOf(&st)
	}
	return stat, err
}

func stat(path string) (stat Stat, err error) {
	var st unix.Stat_t
	for {
		if err = unix.Stat(path, &st); err != unix.EINTR {
			break
		}
	}
	if err == nil {
		stat = statOf(&st)
	}
	return stat, err
}

func lstat(path string) (stat Stat, err error) {
	var st unix.Stat_t
	for {
		if err = unix.Lstat(path, &st); err != unix.EINTR {
			break
		}
	}
	if err == nil {
		stat = statOf(&st)
	}
	return stat, err
}

// isSymlink is lstat for who asks for that alone.
func isSymlink(path string) (bool, error) {
	var st unix.Stat_t
	for {
		if err := unix.Lstat(path, &st); err != unix.EINTR {
			return st.Mode&unix.S_IFMT == unix.S_IFLNK, err
		}
	}
}

func statOf(st *unix.Stat_t) Stat {
	s := Stat{
		Size:       st.Size,
		AccessTime: time.Unix(st.Atim.Unix()),
		ModTime:    time.Unix(st.Mtim.Unix()),
		ChangeTime: time.Unix(st.Ctim.Unix()),
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		s.Type = File
	case unix.S_IFDIR:
		s.Type = Directory
	case unix.S_IFLNK:
		s.Type = Symlink
	}
	return s
}

func unlink(path string) error {
	for {
		if err := unix.Unlink(path); err != unix.EINTR {
			return err
		}
	}
}

func link(from, to string) error {
	for {
		if err := syscall.Link(from, to); err != unix.EINTR {
			return err
		}
	}
}

func rename(from, to string) error {
	for {
		if err := syscall.Rename(from, to); err != unix.EINTR {
			return err
		}
	}
}

func mkdir(path string) error {
	for {
		if err := syscall.Mkdir(path, 0o777); err != unix.EINTR {
			return err
		}
	}
}

func rmdir(path string) error {
	for {
		if err := syscall.Rmdir(path); err != unix.EINTR {
			return err
		}
	}
}

func utimes(path string, mtimeMs int64) error {
	t, err := unix.TimeToTimespec(nodetime.Stored(mtimeMs))
	if err != nil {
		return unix.EINVAL // beyond what a 32-bit system can say
	}
	for {
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{t, t}, 0); err != unix.EINTR {
			return err
		}
	}
}

// readdir returns the names sorted by their bytes. The system gives them in an order
// of its own, but libuv sorts them.
func readdir(path string) ([]string, error) {
	h, err := open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer closeHandle(h)
	names := []string{}
	buffer := make([]byte, 8192)
	for {
		n, err := unix.ReadDirent(int(h), buffer)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			slices.Sort(names)
			return names, nil
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
}

func readlink(path string) (string, error) {
	for size := 256; ; size *= 2 {
		buffer := make([]byte, size)
		n, err := unix.Readlink(path, buffer)
		switch {
		case err == unix.EINTR:
			size /= 2
		case err != nil:
			return "", err
		case n < size:
			return string(buffer[:n]), nil
		}
	}
}

// getwd asks the system. os.Getwd prefers $PWD, which may lead through links; Node
// does not.
func getwd() (string, error) { return unix.Getwd() }

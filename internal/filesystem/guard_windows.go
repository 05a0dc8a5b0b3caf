package filesystem

import (
	"fmt"

	"golang.org/x/sys/windows"
)

func openDirectory(path string) (Handle, error) {
	h, err := createFile(path, windows.FILE_READ_ATTRIBUTES, windows.OPEN_EXISTING, 0)
	return Handle(h), err
}

// tryGuard takes the guard by a named mutex whose name is made of the directory's
// identity. The mutex guards by being there and not by being owned, so that no thread is
// tied to it.
func tryGuard(directory Handle) (Handle, error) {
	_, id, err := fstatIdentity(directory)
	if err != nil {
		return noHandle, ErrUnguardable
	}
	// In the namespace of all sessions, where any user may create a mutex.
	name, err := windows.UTF16PtrFromString(fmt.Sprintf(`Global\nodelock-%x-%x-%x`, id.Device, id.File[0], id.File[1]))
	if err != nil {
		return noHandle, ErrUnguardable
	}
	// It is there from the moment that a process creates it until that process closes it, or
	// ends. Others that find it hold it too for an instant; that is taken for a guard, and
	// they come again.
	h, err := windows.CreateMutex(nil, false, name)
	switch err {
	case nil:
		return Handle(h), nil
	case windows.ERROR_ALREADY_EXISTS:
		windows.CloseHandle(h)
		return noHandle, ErrGuarded
	case windows.ERROR_ACCESS_DENIED:
		return noHandle, ErrGuarded // another user's
	}
	return noHandle, ErrUnguardable
}

func unguard(guard Handle) error { return windows.CloseHandle(windows.Handle(guard)) }

package filesystem

import "golang.org/x/sys/windows"

func renameNoReplace(from, to string) error {
	source, err := namespaced(from)
	if err != nil {
		return err
	}
	target, err := namespaced(to)
	if err != nil {
		return err
	}
	return windows.MoveFileEx(source, target, 0)
}

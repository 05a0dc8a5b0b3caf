package filesystem

// RenameNoReplace moves from to to, or fails with EEXIST if there is anything at to, be
// it an empty directory, which [OS.Rename] may replace. It fails as "rename".
//
// It is atomic or it fails: with EINVAL, ENOSYS or ENOTSUP (on Windows: EPERM or EBUSY,
// if somebody has a file below from open) where the system or the filesystem of the two
// paths has no such rename. What to do then differs from protocol to protocol and is
// left to the caller.
func (OS) RenameNoReplace(from, to string) error {
	if err := renameNoReplace(from, to); err != nil {
		return failedPair("rename", from, to, err)
	}
	return nil
}

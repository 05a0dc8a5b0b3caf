package lockfile

const defaultFiletime = Mtime

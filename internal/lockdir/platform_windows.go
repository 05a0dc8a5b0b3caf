package lockdir

import "path/filepath"

// System returns this system's platform.
func System() Platform {
	p := Windows()
	p.Syntax = Syntax{Separator: '\\', FoldsCase: true, volume: filepath.VolumeName}
	return p
}

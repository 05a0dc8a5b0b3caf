package lockdir

import "strings"

// A Syntax is how absolute paths are written that [filesystem.OS.Resolve] has cleaned.
type Syntax struct {
	Separator byte
	// FoldsCase: two names that differ only in case are the same.
	FoldsCase bool
	// volume returns what comes before the root; nil: nothing does.
	volume func(path string) string
}

// split cuts a path into its volume and its names.
func (s Syntax) split(path string) (volume string, names []string) {
	if s.volume != nil {
		volume = s.volume(path)
	}
	for name := range strings.SplitSeq(path[len(volume):], string(s.Separator)) {
		if name != "" {
			names = append(names, name)
		}
	}
	return volume, names
}

func (s Syntax) join(dir, name string) string {
	if strings.HasSuffix(dir, string(s.Separator)) {
		return dir + name
	}
	return dir + string(s.Separator) + name
}

// base returns the last name, or "" for a root.
func (s Syntax) base(path string) string {
	_, names := s.split(path)
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1]
}

// dir returns what the last name is in; a root is in itself.
func (s Syntax) dir(path string) string {
	volume, names := s.split(path)
	separator := string(s.Separator)
	return volume + separator + strings.Join(names[:max(len(names)-1, 0)], separator)
}

func (s Syntax) same(a, b string) bool {
	if s.FoldsCase {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// relative returns the way from one path to another, as Node's path.relative does:
// "" if they are the same, and the other path itself if it is on another volume.
func (s Syntax) relative(from, to string) string {
	fromVolume, a := s.split(from)
	toVolume, b := s.split(to)
	if !s.same(fromVolume, toVolume) {
		return to
	}
	common := 0
	for common < min(len(a), len(b)) && s.same(a[common], b[common]) {
		common++
	}
	way := make([]string, 0, len(a)+len(b)-2*common)
	for range len(a) - common {
		way = append(way, "..")
	}
	return strings.Join(append(way, b[common:]...), string(s.Separator))
}

// within reports whether path is dir or below it.
func (s Syntax) within(dir, path string) bool {
	dirVolume, a := s.split(dir)
	volume, b := s.split(path)
	if !s.same(dirVolume, volume) || len(b) < len(a) {
		return false
	}
	for i := range a {
		if !s.same(a[i], b[i]) {
			return false
		}
	}
	return true
}

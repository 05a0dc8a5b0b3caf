package filesystem

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
)

// A call is one call of the seam, in a form that can be handed to another process: to
// Node, or to this test's binary run in other circumstances.
type call struct {
	Name string   `json:"name"`
	Args []string `json:"args,omitempty"`
}

func (c call) String() string { return fmt.Sprintf("%s%q", c.Name, c.Args) }

// make makes the call, closing what it opens: with its arguments for paths, and a handle
// that there is not.
func (c call) make() (value any, err error) {
	method := reflect.ValueOf(OS{}).MethodByName(c.Name)
	var in []reflect.Value
	for i := range method.Type().NumIn() {
		switch kind := method.Type().In(i); kind {
		case reflect.TypeFor[string]():
			in = append(in, reflect.ValueOf(c.Args[len(in)]))
		case reflect.TypeFor[Handle]():
			in = append(in, reflect.ValueOf(Handle(9999)))
		default:
			in = append(in, reflect.ValueOf(1000).Convert(kind)) // a time
		}
	}
	out := method.Call(in)
	err, _ = out[len(out)-1].Interface().(error)
	if len(out) == 1 {
		return nil, err
	}
	switch v := out[0].Interface().(type) {
	case Handle:
		if err == nil {
			return nil, OS{}.Close(v)
		}
		if v != noHandle {
			panic(fmt.Sprintf("%v: handle %d beside an error", c, v))
		}
	case Stat:
		if err != nil && v != (Stat{}) {
			panic(fmt.Sprintf("%v: %v beside an error", c, v))
		}
	default:
		if err == nil {
			return v, nil
		}
	}
	return nil, err
}

// tree returns everything below the working directory, so that it can be seen to be as
// it was.
func tree(t *testing.T) []string {
	t.Helper()
	var entries []string
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		entries = append(entries, fmt.Sprint(path, " ", info.Mode(), " ", info.ModTime().UnixNano()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// causedBy checks that an error unwraps to Go's own account of the failure.
func causedBy(t *testing.T, err error) {
	t.Helper()
	var (
		path *fs.PathError
		link *os.LinkError
		call *os.SyscallError
		no   syscall.Errno
	)
	if !errors.As(err, &path) && !errors.As(err, &link) && !errors.As(err, &call) {
		t.Errorf("%v unwraps to no error of Go's", err)
	}
	if !errors.As(err, &no) {
		t.Errorf("%v unwraps to no errno", err)
	}
}

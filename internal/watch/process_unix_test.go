//go:build unix

package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// eventually is as long as a test waits for what must come.
const eventually = 20 * time.Second

// A place is a directory with a lock of each kind and a notifier for them.
type place struct {
	t *testing.T
	Notifier
	directory, file, made string
}

func newPlace(t *testing.T) *place {
	directory := t.TempDir()
	p := &place{t: t, directory: directory, file: filepath.Join(directory, "file"), made: filepath.Join(directory, "made")}
	p.write(p.file)
	p.do(os.Mkdir(p.made, 0o777))
	t.Cleanup(p.settle)
	return p
}

func (p *place) do(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) write(path string) {
	p.t.Helper()
	p.do(os.WriteFile(path, nil, 0o666))
}

func (p *place) watch(path string) Watch {
	p.t.Helper()
	w, err := p.Watch(path)
	p.do(err)
	return w
}

// awaits expects a watch to fire.
func (p *place) awaits(w Watch) {
	p.t.Helper()
	if fired, err := w.Await(context.Background(), eventually); !fired || err != nil {
		p.t.Errorf("the watch has fired: %v, %v", fired, err)
	}
}

// settle waits until the notifier has nothing of the system any more.
func (p *place) settle() {
	p.t.Helper()
	end := time.Now().Add(eventually)
	for p.busy() || strings.Contains(goroutines(), "fsnotify") {
		if time.Now().After(end) {
			p.t.Fatalf("the session is still there, or its goroutines:\n%s", goroutines())
		}
		time.Sleep(time.Millisecond)
	}
}

func (p *place) busy() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.current != nil
}

func goroutines() string {
	text := make([]byte, 1<<20)
	return string(text[:runtime.Stack(text, true)])
}

// Whatever can happen to a lock that is held wakes those who wait for it.
func TestWhatFires(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(p *place) error
	}{
		{"a file is removed", func(p *place) error { return os.Remove(p.file) }},
		{"a directory is removed", func(p *place) error { return os.Remove(p.made) }},
		{"a file is moved away", func(p *place) error { return os.Rename(p.file, p.file+"2") }},
		{"a directory is moved away", func(p *place) error { return os.Rename(p.made, p.made+"2") }},
		{"a file is replaced", func(p *place) error {
			p.write(p.file + "2")
			return os.Rename(p.file+"2", p.file)
		}},
		{"a file has another time", func(p *place) error { return os.Chtimes(p.file, time.Time{}, time.Now()) }},
		{"a directory has another time", func(p *place) error { return os.Chtimes(p.made, time.Time{}, time.Now()) }},
		{"a file is made in a directory", func(p *place) error { return os.WriteFile(filepath.Join(p.made, "a"), nil, 0o666) }},
		{"a file is moved into a directory", func(p *place) error { return os.Rename(p.file+"3", filepath.Join(p.made, "a")) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newPlace(t)
			p.write(p.file + "3")
			path := p.file
			if strings.Contains(row.name, "directory") {
				path = p.made
			}
			// There are two, by one path, and one begins when the first has fired.
			first, second := p.watch(path), p.watch(path)
			p.do(row.do(p))
			p.awaits(first)
			p.awaits(second)
			first.Close()
			second.Close()
			if _, err := os.Lstat(path); err == nil {
				third := p.watch(path)
				p.do(os.RemoveAll(path))
				p.awaits(third)
				third.Close()
			} else if _, err := p.Watch(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what is not there is watched: %v", err)
			}
		})
	}
}

// The holder of a lock has it open. Its removal is seen at once all the same.
func TestRemovalOfAnOpenFile(t *testing.T) {
	p := newPlace(t)
	f, err := os.Open(p.file)
	p.do(err)
	defer f.Close()
	w := p.watch(p.file)
	defer w.Close()
	p.do(os.Remove(p.file))
	p.awaits(w)
}

// What else is in the directory of a lock wakes nobody.
func TestOtherFiles(t *testing.T) {
	p := newPlace(t)
	w := p.watch(p.file)
	defer w.Close()
	marker := p.watch(p.made)
	defer marker.Close()
	for i := range 1000 {
		other := fmt.Sprint(p.file, i)
		p.write(other)
		p.do(os.Chtimes(other, time.Time{}, time.Now()))
		p.do(os.Remove(other))
	}
	// Events come in order. That of the marker is the last one.
	p.do(os.Chtimes(p.made, time.Time{}, time.Now()))
	p.awaits(marker)
	if fired, err := w.Await(context.Background(), 0); fired || err != nil {
		t.Errorf("the watch of another file has fired: %v, %v", fired, err)
	}
}

// A wait ends with its context or its time, and the watch can be awaited again.
func TestAwaitEnds(t *testing.T) {
	p := newPlace(t)
	w := p.watch(p.file)
	defer w.Close()
	cause := errors.New("a cause")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if fired, err := w.Await(ctx, eventually); fired || err != cause {
		t.Errorf("with a context that has ended: %v, %v", fired, err)
	}
	if fired, err := w.Await(context.Background(), time.Millisecond); fired || err != nil {
		t.Errorf("for a millisecond: %v, %v", fired, err)
	}
	p.do(os.Remove(p.file))
	p.awaits(w)
	p.awaits(w)
}

// Watches of many goroutines neither miss an event nor leave anything.
func TestMany(t *testing.T) {
	p := newPlace(t)
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			path := filepath.Join(p.directory, fmt.Sprint("own", i%4))
			for range 200 {
				_ = os.WriteFile(path, nil, 0o666)
				w, err := p.Watch(path)
				if errors.Is(err, fs.ErrNotExist) {
					continue // the other one with that path has removed it
				}
				if err != nil {
					t.Error(err)
					return
				}
				_ = os.Remove(path)
				fired, err := w.Await(context.Background(), eventually)
				w.Close()
				if !fired || err != nil {
					t.Errorf("the watch has fired: %v, %v", fired, err)
					return
				}
			}
		})
	}
	wg.Wait()
	p.settle()
	for end := time.Now().Add(eventually); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("goroutines are left:\n%s", goroutines())
		}
	}
}

// A session is closed a moment after its last watch, and the next watch has another one.
func TestSessions(t *testing.T) {
	p := newPlace(t)
	for range 3 {
		w := p.watch(p.file)
		w.Close()
		w = p.watch(p.file)
		p.do(os.Chtimes(p.file, time.Time{}, time.Now()))
		p.awaits(w)
		w.Close()
		p.settle()
	}
}

// Where events were lost, everything fires.
func TestOverflow(t *testing.T) {
	p := newPlace(t)
	one, another := p.watch(p.file), p.watch(p.made)
	defer one.Close()
	defer another.Close()
	p.current.notify.Errors <- fmt.Errorf("wrapped: %w", fsnotify.ErrEventOverflow)
	p.awaits(one)
	p.awaits(another)
}

package watch

import "errors"

// Process watches nothing: on Windows a watch keeps a removed lock's name in use, so that
// nobody can make the next one.
var Process Notifier

// A Notifier is a [Watcher] of this system.
type Notifier struct{}

// Watch implements [Watcher].
func (*Notifier) Watch(string) (Watch, error) { return nil, errors.ErrUnsupported }

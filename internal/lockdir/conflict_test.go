package lockdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/callerror"
)

func TestConflicts(t *testing.T) {
	l := &Lock{options: Options{Retries: 5, Rounds: 20}, target: "notes/topic.md"}
	for _, test := range []struct {
		err  error
		is   []error
		text string
	}{
		{l.conflict(ErrHeld, "4242"), []error{ErrHeld}, "notes/topic.md is locked by PID 4242"},
		{l.conflict(ErrHeld, "unknown"), []error{ErrHeld}, "notes/topic.md is locked by PID unknown"},
		{l.conflict(ErrIncoming), []error{ErrIncoming}, "notes/topic.md is locked by an incoming process"},
		{l.conflict(ErrDirectory, "s\tub"), []error{ErrDirectory, ErrUnclearable}, `the lock directory of notes/topic.md cannot be cleared: it has a directory in it: s\x09ub`},
		{l.conflict(ErrUnclearable, "a", "b\n"), []error{ErrUnclearable}, `the lock directory of notes/topic.md would not empty after 5 retries; still present: a, b\x0a`},
		{l.conflict(ErrNotRestored, "a.json", "EACCES"), []error{ErrNotRestored}, "notes/topic.md has another process's record a.json, which was moved aside and could not be put back: EACCES"},
		{l.conflict(ErrChurn), []error{ErrChurn}, "the lock directory of notes/topic.md changed in each of 20 rounds"},
	} {
		if got, want := test.err.Error(), "Lock conflict: "+test.text; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if nodeerror.Code(test.err) != "ECONFLICT" || !errors.Is(test.err, ErrLocked) || errors.Is(test.err, ErrContainment) {
			t.Errorf("%v is no ECONFLICT", test.err)
		}
		for _, reason := range []error{ErrHeld, ErrIncoming, ErrDirectory, ErrUnclearable, ErrNotRestored, ErrChurn} {
			want := false
			for _, is := range test.is {
				want = want || reason == is
			}
			if errors.Is(test.err, reason) != want {
				t.Errorf("%v: is %q: %v", test.err, reason, !want)
			}
		}
	}
}

func TestExitCode(t *testing.T) {
	l := &Lock{target: "t"}
	for _, test := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{l.conflict(ErrHeld, "1"), 4},
		{fmt.Errorf("saving: %w", l.conflict(ErrChurn)), 4},
		{ErrLocked, 4},
		{errors.New("Lock conflict: by text"), 4},
		{errors.New("OCC conflict: t changed"), 4},
		{errors.New("a Lock conflict: not at the start"), 5},
		{outside("/elsewhere"), 3},
		{fmt.Errorf("saving: %w", outside("/elsewhere")), 3},
		{ErrCompromised, 5},
		{ErrReleased, 5},
		{context.Canceled, 5},
		{fs.ErrPermission, 5},
		{callerror.Linux("EPERM", "rmdir", "p", ""), 5},
	} {
		if got := ExitCode(test.err); got != test.want {
			t.Errorf("ExitCode(%v) = %d, want %d", test.err, got, test.want)
		}
	}
	if err := outside("/else\nwhere"); !errors.Is(err, ErrContainment) || err.Error() != `Security error: refusing to write outside the vault: /else\x0awhere` {
		t.Errorf("got %v", err)
	}
}

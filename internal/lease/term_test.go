package lease

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

var (
	errReleased = errors.New("released")
	errLost     = errors.New("lost")
	errRemoval  = errors.New("the removal fails")
)

// expect checks what a holder sees of a term that has ended with want; nil: it has not.
func expect(t *testing.T, term *Term, want error) {
	t.Helper()
	if got := term.Err(); got != want {
		t.Errorf("Err is %v, want %v", got, want)
	}
	if got := context.Cause(term.Context()); got != want {
		t.Errorf("the cause of Context is %v, want %v", got, want)
	}
	select {
	case <-term.Done():
		if want == nil {
			t.Error("Done is closed")
		}
	default:
		if want != nil {
			t.Error("Done is not closed")
		}
	}
}

// Whether the channel and the context are asked for before the end or after it makes no
// difference.
func TestEnds(t *testing.T) {
	for _, asked := range []string{"before", "after"} {
		t.Run(asked, func(t *testing.T) {
			var lost, released Term
			if asked == "before" {
				expect(t, &lost, nil)
				expect(t, &released, nil)
			}
			if !lost.End(errLost) || lost.End(errRemoval) {
				t.Error("a loss is not the first end, or a second one is")
			}
			expect(t, &lost, errLost)
			if err := released.Release(errReleased, func() (bool, error) { return true, nil }); err != nil {
				t.Error(err)
			}
			expect(t, &released, errReleased)
			if released.End(errLost) {
				t.Error("what was released is lost")
			}
		})
	}
}

// A removal that leaves nothing to do is made once.
func TestReleaseHappensOnce(t *testing.T) {
	var term Term
	removals := 0
	remove := func() (bool, error) { removals++; return true, nil }
	for _, want := range []error{nil, errReleased, errReleased} {
		if err := term.Release(errReleased, remove); err != want {
			t.Errorf("Release: %v, want %v", err, want)
		}
	}
	if removals != 1 {
		t.Errorf("%d removals", removals)
	}
}

// A removal that has failed is made again, and the holder is told of the end at once.
func TestFailedReleaseIsTriedAgain(t *testing.T) {
	var term Term
	results := []error{errRemoval, errRemoval, nil}
	remove := func() (bool, error) {
		err := results[0]
		results = results[1:]
		return err == nil, err
	}
	for _, want := range []error{errRemoval, errRemoval, nil, errReleased} {
		if err := term.Release(errReleased, remove); err != want {
			t.Errorf("Release: %v, want %v", err, want)
		}
		expect(t, &term, errReleased)
	}
}

// A release that finds the lock lost says so, and so does the term.
func TestReleaseOfALostLock(t *testing.T) {
	var term Term
	for range 2 {
		if err := term.Release(errReleased, func() (bool, error) { return true, errLost }); err != errLost {
			t.Error(err)
		}
		expect(t, &term, errLost)
	}
	var known Term
	known.End(errLost)
	if err := known.Release(errReleased, func() (bool, error) { panic("a lost lock is removed") }); err != errLost {
		t.Error(err)
	}
}

// The context that the lock was taken with ends the context of the term, and not the term.
func TestParent(t *testing.T) {
	parent, cancel := context.WithCancelCause(t.Context())
	var term Term
	term.Begin(parent)
	held := term.Context()
	cancel(errLost)
	if context.Cause(held) != errLost {
		t.Errorf("the cause is %v", context.Cause(held))
	}
	if term.Err() != nil {
		t.Errorf("the term has ended: %v", term.Err())
	}
}

// Calls of Release wait for one that is under way: of many, one removes the lock.
func TestConcurrentReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var term Term
		proceed := make(chan struct{})
		removals := 0
		var group sync.WaitGroup
		results := make(chan error, 10)
		for range cap(results) {
			group.Go(func() {
				results <- term.Release(errReleased, func() (bool, error) {
					<-proceed
					removals++
					if removals == 1 {
						return false, errRemoval
					}
					return true, nil
				})
			})
		}
		synctest.Wait()
		if len(results) > 0 {
			t.Error("a release has not waited")
		}
		close(proceed)
		group.Wait()
		counts := map[error]int{}
		for range cap(results) {
			counts[<-results]++
		}
		if counts[errRemoval] != 1 || counts[nil] != 1 || counts[errReleased] != cap(results)-2 {
			t.Errorf("results: %v", counts)
		}
	})
}

// A lock that nobody asks about costs nothing more.
func TestNoAllocation(t *testing.T) {
	terms := make([]Term, 200)
	if n := testing.AllocsPerRun(100, func() {
		term := &terms[0]
		terms = terms[1:]
		term.Begin(context.Background())
		_ = term.Release(errReleased, func() (bool, error) { return true, nil })
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

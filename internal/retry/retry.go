// Package retry is the schedule of the npm package retry: how long to wait before
// each further attempt, and which error to report in the end. Versions 0.10.1 and
// 0.12.0 differ in one thing: the older knows no MaxRetryTime.
package retry

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

// Options are the package's options. The zero value asks for no retry. Once any field
// is set, those that are 0 have the package's defaults.
type Options struct {
	// Count is how many further attempts follow the first. 0 is none in the zero value
	// and 10 beside other fields, and a negative number is none.
	Count int
	// Factor is what each timeout is multiplied by for the next; 0: 2.
	Factor float64
	// MinTimeout is the first timeout; 0: 1 s. MaxTimeout caps them all; 0: nothing does.
	MinTimeout, MaxTimeout time.Duration
	// Randomize multiplies each timeout by a random number from 1 to 2.
	Randomize bool
	// Forever starts the list over at its end, and makes it one timeout long at least.
	Forever bool
	// MaxRetryTime ends it all once so much time is over; 0: nothing does.
	MaxRetryTime time.Duration
}

// Old returns the options as version 0.10.1 takes them, which knows no MaxRetryTime. That
// one was given counts all the same.
func (o Options) Old() Options {
	if o.MaxRetryTime != 0 {
		o.MaxRetryTime = 0
		o.Count = cmp.Or(o.Count, defaultCount)
	}
	return o
}

// Any reports whether the options ask for a retry at all.
func (o Options) Any() bool { return o.numbers().length() > 0 }

const defaultCount = 10

// numbers are the options as the package has them: complete, and in milliseconds.
type numbers struct {
	retries                        int
	factor, minTimeout, maxTimeout float64
	randomize, forever             bool
}

func (o Options) numbers() numbers {
	n := numbers{
		retries: o.Count, factor: o.Factor,
		minTimeout: milliseconds(o.MinTimeout), maxTimeout: milliseconds(o.MaxTimeout),
		randomize: o.Randomize, forever: o.Forever,
	}
	if o == (Options{}) {
		n.retries = -1
	}
	n.retries = cmp.Or(n.retries, defaultCount)
	n.factor = cmp.Or(n.factor, 2)
	n.minTimeout = cmp.Or(n.minTimeout, 1000)
	n.maxTimeout = cmp.Or(n.maxTimeout, math.Inf(1))
	return n
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// length is how many timeouts the list has.
func (n numbers) length() int {
	if n.forever {
		return max(n.retries, 1)
	}
	return max(n.retries, 0)
}

// maxListed bounds the list that is made. Whoever asks for more has the last of these,
// which is the longest, for all the rest; Node runs out of memory at some point.
const maxListed = 1 << 16

// timeouts returns the list in milliseconds, ascending.
func (n numbers) timeouts(random func() float64) []float64 {
	list := make([]float64, min(n.length(), maxListed))
	for i := range list {
		list[i] = n.timeout(i, random)
	}
	// Of a list that has something in it that is not a number, JavaScript keeps the
	// order of what it cannot compare.
	slices.SortStableFunc(list, func(a, b float64) int {
		switch {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
	return list
}

func (n numbers) timeout(attempt int, random func() float64) float64 {
	scale := 1.0
	if n.randomize {
		scale += random()
	}
	return math.Min(round(scale*n.minTimeout*math.Pow(n.factor, float64(attempt))), n.maxTimeout)
}

// round is JavaScript's Math.round: halves go up.
func round(x float64) float64 {
	floor := math.Floor(x)
	if x-floor >= 0.5 {
		return floor + 1
	}
	return floor
}

// An Operation is one call that is tried several times. That of the zero value is tried
// once.
type Operation struct {
	numbers      numbers
	random       func() float64
	maxRetryTime float64 // 0: none
	start        int64

	listed []float64
	// rest is how many timeouts of the list are to come.
	rest     int
	counts   map[string]int
	main     error
	timedOut bool
}

// New returns an operation whose first attempt begins now, at the wall clock's ms.
// Random returns numbers from 0 to below 1.
func New(o Options, now int64, random func() float64) (Operation, error) {
	return newOperation(o.numbers(), milliseconds(o.MaxRetryTime), now, random)
}

func newOperation(n numbers, maxRetryTime float64, now int64, random func() float64) (Operation, error) {
	if n.minTimeout > n.maxTimeout {
		return Operation{}, errMinTimeout
	}
	return Operation{
		numbers: n, random: random, rest: n.length(), start: now, maxRetryTime: maxRetryTime,
	}, nil
}

var (
	errMinTimeout = &nodeerror.Error{Message: "minTimeout is greater than maxTimeout"}
	errTimedOut   = &nodeerror.Error{Message: "RetryOperation timeout occurred"}
)

// Retry takes the error of an attempt and returns how long to wait before the next,
// or false if there is none: then MainError says what to report.
func (op *Operation) Retry(err error, now int64) (time.Duration, bool) {
	if op.maxRetryTime != 0 && float64(now-op.start) >= op.maxRetryTime {
		op.timedOut = true
		return 0, false
	}
	if op.rest == 0 && op.numbers.forever {
		// The list starts over. Of the errors so far this one alone is forgotten.
		op.rest = op.numbers.length()
		return op.next(), true
	}
	op.remember(err)
	if op.rest == 0 {
		return 0, false
	}
	return op.next(), true
}

func (op *Operation) next() time.Duration {
	if op.listed == nil {
		op.listed = op.numbers.timeouts(op.random)
	}
	i := op.numbers.length() - op.rest
	op.rest--
	return duration(op.listed[min(i, len(op.listed)-1)])
}

// duration converts a timeout. One that is not a number is the shortest, as it is to
// Node's timers.
func duration(ms float64) time.Duration {
	switch {
	case !(ms >= 1):
		return time.Millisecond
	case ms >= math.MaxInt64/float64(time.Millisecond):
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}

func (op *Operation) remember(err error) {
	message := err.Error()
	if op.counts == nil {
		op.counts = map[string]int{}
	}
	op.counts[message]++
	if op.main == nil || op.counts[message] >= op.counts[op.main.Error()] {
		op.main = err
	}
}

// MainError returns the error that was met most often, going by the text, and of
// several the later one.
func (op *Operation) MainError() error {
	if op.main == nil && op.timedOut {
		return errTimedOut
	}
	return op.main
}

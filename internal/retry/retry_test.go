package retry

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/seed-c461eb89/nodelock/testdata"
)

// recorded is an entry of testdata/retry.json: what the real package did.
type recorded struct {
	Options struct {
		Retries      *int
		Factor       *float64
		MinTimeout   *float64
		MaxTimeout   *float64
		Randomize    bool
		Forever      bool
		MaxRetryTime float64
	}
	Random   []float64
	Attempts []struct {
		Message string
		Takes   int64
	}
	Old outcome `json:"0.10.1"`
	New outcome `json:"0.12.0"`
}

type outcome struct {
	Error    string
	Timeouts []float64
	Waits    []float64
	Main     any // an index, "timeout" or nil
}

func (r recorded) numbers() numbers {
	n := Options{Count: 10}.numbers()
	set(&n.retries, r.Options.Retries)
	set(&n.factor, r.Options.Factor)
	set(&n.minTimeout, r.Options.MinTimeout)
	set(&n.maxTimeout, r.Options.MaxTimeout)
	n.randomize, n.forever = r.Options.Randomize, r.Options.Forever
	return n
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// give returns a source of the numbers that were recorded.
func give(numbers []float64) func() float64 {
	i := -1
	return func() float64 {
		i++
		return numbers[i]
	}
}

// waits drives an operation as the recorder did.
func waits(op *Operation, r recorded) (waits []time.Duration, main any) {
	now := op.start
	var errs []error
	for i, attempt := range r.Attempts {
		now += attempt.Takes
		errs = append(errs, errors.New(attempt.Message))
		wait, ok := op.Retry(errs[i], now)
		if !ok {
			if at := slices.Index(errs, op.MainError()); at >= 0 {
				return waits, float64(at)
			}
			if op.MainError() == error(errTimedOut) {
				return waits, "timeout"
			}
			return waits, fmt.Sprint(op.MainError())
		}
		waits = append(waits, wait)
		now += wait.Milliseconds()
	}
	return waits, nil
}

func TestRecorded(t *testing.T) {
	var entries []recorded
	if err := json.Unmarshal(testdata.Retry, &entries); err != nil {
		t.Fatal(err)
	}
	if len(entries) < 300 {
		t.Fatalf("only %d entries", len(entries))
	}
	for i, r := range entries {
		for _, version := range []struct {
			name         string
			maxRetryTime float64
			want         outcome
		}{
			{"0.10.1", 0, r.Old},
			{"0.12.0", r.Options.MaxRetryTime, r.New},
		} {
			const start = 1700000000000
			op, err := newOperation(r.numbers(), version.maxRetryTime, start, give(r.Random))
			if version.want.Error != "" || err != nil {
				if err == nil || err.Error() != version.want.Error {
					t.Errorf("entry %d, %s: error %v, want %s", i, version.name, err, version.want.Error)
				}
				continue
			}
			if diff := cmp.Diff(version.want.Timeouts, op.numbers.timeouts(give(r.Random)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("entry %d, %s: timeouts (-Node +Go):\n%s", i, version.name, diff)
			}
			got, main := waits(&op, r)
			var want []time.Duration
			for _, ms := range version.want.Waits {
				want = append(want, duration(ms))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("entry %d, %s: waits (-Node +Go):\n%s", i, version.name, diff)
			}
			if main != version.want.Main {
				t.Errorf("entry %d, %s: main error %v, want %v", i, version.name, main, version.want.Main)
			}
		}
	}
}

func TestDefaults(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		options Options
		any     bool
		want    numbers
	}{
		{Options{}, false, numbers{-1, 2, 1000, inf, false, false}},
		{Options{Count: 3}, true, numbers{3, 2, 1000, inf, false, false}},
		{Options{Count: -3}, false, numbers{-3, 2, 1000, inf, false, false}},
		{Options{MinTimeout: 2500 * time.Microsecond}, true, numbers{10, 2, 2.5, inf, false, false}},
		{Options{MaxTimeout: time.Minute}, true, numbers{10, 2, 1000, 60000, false, false}},
		{Options{Factor: 1}, true, numbers{10, 1, 1000, inf, false, false}},
		{Options{Randomize: true}, true, numbers{10, 2, 1000, inf, true, false}},
		{Options{Forever: true}, true, numbers{10, 2, 1000, inf, false, true}},
		{Options{Count: -1, Forever: true}, true, numbers{-1, 2, 1000, inf, false, true}},
		{Options{MaxRetryTime: time.Second}, true, numbers{10, 2, 1000, inf, false, false}},
	} {
		if got := c.options.numbers(); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.options, got, c.want)
		}
		if got := c.options.Any(); got != c.any {
			t.Errorf("%+v: asks for a retry: %t, want %t", c.options, got, c.any)
		}
	}
}

func TestOld(t *testing.T) {
	for given, want := range map[Options]Options{
		{}:                            {},
		{Count: 3}:                    {Count: 3},
		{MaxRetryTime: 1}:             {Count: 10},
		{MaxRetryTime: 1, Count: -1}:  {Count: -1},
		{MaxRetryTime: 1, Factor: 3}:  {Count: 10, Factor: 3},
		{MaxRetryTime: -1, Count: 20}: {Count: 20},
	} {
		if got := given.Old(); got != want {
			t.Errorf("%+v: %+v, want %+v", given, got, want)
		}
	}
}

// More retries than memory has room for are still counted, or as good as.
func TestManyRetries(t *testing.T) {
	op, err := New(Options{Count: math.MaxInt, MinTimeout: time.Millisecond, MaxTimeout: 5 * time.Millisecond}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	failure := errors.New("failure")
	for i := range 3 * maxListed {
		want := min(time.Millisecond<<min(i, 10), 5*time.Millisecond)
		if got, ok := op.Retry(failure, 0); got != want || !ok {
			t.Fatalf("retry %d: %v %t, want %v", i, got, ok, want)
		}
	}

	op, err = New(Options{Count: maxListed + 2, Factor: 1, MinTimeout: time.Second}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxListed + 2 {
		if got, ok := op.Retry(failure, 0); got != time.Second || !ok {
			t.Fatalf("retry %d: %v %t", i, got, ok)
		}
	}
	if got, ok := op.Retry(failure, 0); ok {
		t.Fatalf("one retry too many, after %v", got)
	}
}

// A timeout that no timer can have is the longest or the shortest there is.
func TestExtremes(t *testing.T) {
	for ms, want := range map[float64]time.Duration{
		math.Inf(1): math.MaxInt64, 1e300: math.MaxInt64, 9223372036854: 9223372036854 * time.Millisecond,
		math.NaN(): time.Millisecond, math.Inf(-1): time.Millisecond, 0: time.Millisecond, 0.9: time.Millisecond,
		1.9: time.Millisecond, 2147483648: 2147483648 * time.Millisecond,
	} {
		if got := duration(ms); got != want {
			t.Errorf("%g ms: %v, want %v", ms, got, want)
		}
	}
	op, err := New(Options{Factor: math.NaN(), Count: 2}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := op.numbers.timeouts(nil); got[0] != 1000 || !math.IsNaN(got[1]) {
		t.Errorf("timeouts %v", got)
	}
}

package lockdir

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
)

func TestDefaults(t *testing.T) {
	o, err := Options{}.withDefaults(POSIX())
	want := Options{
		Heartbeat: 15 * time.Second, Stale: 120 * time.Second, Incoming: 5 * time.Second, Retries: 5, RemoveRetries: 5,
		Rounds: 20, Backoff: 50 * time.Millisecond, BackoffLimit: 300 * time.Millisecond,
		PutBack: time.Second, WaitLimit: 300 * time.Millisecond,
	}
	if err != nil || o != want {
		t.Errorf("got %+v, %v", o, err)
	}
	if o, err = (Options{}).withDefaults(Windows()); err != nil || o.Stale != 60*time.Second {
		t.Errorf("Windows: got %v, %v", o.Stale, err)
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	for name, o := range map[string]Options{
		"Heartbeat":     {Heartbeat: -1},
		"Incoming":      {Incoming: time.Microsecond},
		"Backoff":       {Backoff: math.MaxInt64},
		"BackoffLimit":  {BackoffLimit: math.MinInt64},
		"PutBack":       {PutBack: -time.Second},
		"WaitLimit":     {WaitLimit: 1},
		"Stale":         {Stale: 15 * time.Second},
		"Retries":       {Retries: -1},
		"RemoveRetries": {RemoveRetries: 1001},
		"Rounds":        {Rounds: 6},
		`"Rounds"`:      {Retries: 19},
	} {
		_, err := o.withDefaults(POSIX())
		if nodeerror.Code(err) != "ERR_OUT_OF_RANGE" || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	longest := Options{
		Heartbeat: maxDuration - time.Second, Stale: maxDuration, Incoming: maxDuration, Retries: 998, RemoveRetries: 1000, Rounds: 1000,
		Backoff: maxDuration, BackoffLimit: maxDuration, PutBack: maxDuration, WaitLimit: maxDuration,
	}
	if _, err := longest.withDefaults(POSIX()); err != nil {
		t.Errorf("the longest: %v", err)
	}
}

// chance gives the fractions of a list.
type chance struct {
	*oracle
	fractions []float64
}

func (c *chance) Fraction() float64 {
	f := c.fractions[0]
	c.fractions = c.fractions[1:]
	return f
}

func TestBackoff(t *testing.T) {
	o, err := Options{}.withDefaults(POSIX())
	if err != nil {
		t.Fatal(err)
	}
	almost := math.Nextafter(1, 0)
	for fraction, want := range map[float64][]float64{
		0:      {37.5, 75, 150, 300, 300, 300},
		0.5:    {50, 100, 200, 300, 300, 300},
		almost: {62.5, 125, 250, 300, 300, 300},
	} {
		c := &chance{fractions: slices.Repeat([]float64{fraction}, 6)}
		l := &Lock{Engine: New(nil, nil, c, POSIX(), exithook.None{}), options: o}
		for n, ms := range want {
			if got := l.backoff(n); math.Abs(float64(got)/1e6-ms) > 0.001 {
				t.Errorf("chance %v: pause %d is %v, want %v ms", fraction, n, got, ms)
			}
		}
	}
	c := &chance{fractions: []float64{0.9}}
	l := &Lock{Engine: New(nil, nil, c, POSIX(), exithook.None{}), options: Options{Backoff: maxDuration, BackoffLimit: maxDuration}}
	if got := l.backoff(999); got != maxDuration {
		t.Errorf("the longest pause is %v", got)
	}
}

package nodetime

import (
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"
)

func TestMilliseconds(t *testing.T) {
	for _, row := range []struct{ sec, nsec, want int64 }{
		{0, 0, 0},
		{0, 499_999, 0},
		{0, 500_000, 1}, // half goes up
		{0, 999_499_999, 999},
		{0, 999_500_000, 1000}, // to the next second
		{-1, 0, -1000},
		{-1, 500_000, -999}, // up, not away from zero
		{-1, 499_999, -1000},
		{-1, 999_500_000, 0},
		{1700000000, 75_999_000, 1700000000076},
		{1700000000, 75_500_000, 1700000000076},
		// Beyond the precision of a double, which has 244 ns here.
		{1700000000, 75_499_999, 1700000000076},
		{1700000000, 75_499_800, 1700000000075},
	} {
		if got := Milliseconds(time.Unix(row.sec, row.nsec)); got != row.want {
			t.Errorf("%d s and %d ns are %d ms, want %d", row.sec, row.nsec, got, row.want)
		}
	}
}

func TestStored(t *testing.T) {
	for _, row := range []struct{ ms, sec, nsec int64 }{
		{0, 0, 0},
		{1, 0, 1_000_000},
		{-1, -1, 999_000_000},
		{-1001, -2, 999_001_000}, // the double is above, and is cut towards zero
		{1700000000076, 1700000000, 75_999_000},
		{1700000000001, 1700000000, 999_000},
		{1700000000500, 1700000000, 500_000_000},
		{1700000001000, 1700000001, 0},
		{-1234567890123, -1234567891, 877_001_000},
	} {
		if got, want := Stored(row.ms), time.Unix(row.sec, row.nsec); !got.Equal(want) {
			t.Errorf("%d is stored as %v, want %v", row.ms, got, want)
		}
		if got := Milliseconds(Stored(row.ms)); got != row.ms {
			t.Errorf("%d is read back as %d", row.ms, got)
		}
	}
}

// testdata/filetime.json is what Node made of file times.
func TestAsNode(t *testing.T) {
	content, err := os.ReadFile("../../testdata/filetime.json")
	if err != nil {
		t.Fatal(err)
	}
	type row struct{ Sec, Nsec, MS int64 }
	var file struct {
		Stat   []row `json:"stat"`
		Utimes []row `json:"utimes"`
	}
	if err := json.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Stat {
		if got := Milliseconds(time.Unix(r.Sec, r.Nsec)); got != r.MS {
			t.Errorf("%d s and %d ns are %d ms; in Node %d", r.Sec, r.Nsec, got, r.MS)
		}
	}
	for _, r := range file.Utimes {
		if r.Sec == -1<<31 {
			continue // where ext4's times begin, and have no fraction
		}
		if got, want := Stored(r.MS), time.Unix(r.Sec, r.Nsec); !got.Equal(want) {
			t.Errorf("%d is stored as %d s and %d ns; by Node as %d s and %d ns", r.MS, got.Unix(), got.Nanosecond(), r.Sec, r.Nsec)
		}
	}
	if len(file.Stat) < 100 || len(file.Utimes) < 100 {
		t.Errorf("there are %d times read and %d set", len(file.Stat), len(file.Utimes))
	}
}

// What is stored reads back as what was to be stored, which is what the heartbeat of
// proper-lockfile relies on.
func FuzzStoredReadsBack(f *testing.F) {
	for _, ms := range []int64{0, 1, -1, 1700000000076, -1234567890123} {
		f.Add(ms)
	}
	f.Fuzz(func(t *testing.T, ms int64) {
		ms %= 8.64e15 // what a Date can hold
		// A double has the microsecond until 2255.
		if ms > 9e12 || ms < -9e12 {
			t.Skip()
		}
		if got := Milliseconds(Stored(ms)); got != ms {
			t.Errorf("%d is read back as %d", ms, got)
		}
	})
}

func TestDelay(t *testing.T) {
	for _, row := range []struct{ d, want time.Duration }{
		{-time.Second, time.Millisecond},
		{0, time.Millisecond},
		{time.Microsecond, time.Millisecond},
		{time.Millisecond, time.Millisecond},
		{1999 * time.Microsecond, time.Millisecond},
		{2 * time.Millisecond, 2 * time.Millisecond},
		{time.Second + 1, time.Second},
	} {
		if got := Delay(row.d); got != row.want {
			t.Errorf("Delay(%v) = %v, want %v", row.d, got, row.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for _, row := range []struct {
		ms   int64
		want time.Duration
	}{
		{0, 0},
		{1500, 1500 * time.Millisecond},
		{-1, -time.Millisecond},
		{9223372036854, 9223372036854 * time.Millisecond},
		{9223372036855, math.MaxInt64},
		{math.MaxInt64, math.MaxInt64},
		{-9223372036854, -9223372036854 * time.Millisecond},
		{-9223372036855, math.MinInt64},
		{math.MinInt64, math.MinInt64},
	} {
		if got := Duration(row.ms); got != row.want {
			t.Errorf("Duration(%d) = %d, want %d", row.ms, got, row.want)
		}
	}
}

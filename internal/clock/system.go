package clock

import (
	"context"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// System is the system's clock.
type System struct{}

// Now implements [Clock].
func (System) Now() time.Time { return time.Now() }

// Wait implements [Clock].
func (System) Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(nodetime.Delay(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// AfterFunc implements [Clock].
func (System) AfterFunc(d time.Duration, f func()) Timer {
	return systemTimer{time.AfterFunc(nodetime.Delay(d), f)}
}

type systemTimer struct{ *time.Timer }

func (t systemTimer) Reset(d time.Duration) { t.Timer.Reset(nodetime.Delay(d)) }

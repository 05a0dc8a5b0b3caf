package lockfile

import (
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
)

// Options is Node's options object. Calls write their bookkeeping into it, as they
// do in Node (L24): a caller that wants its own back passes a copy.
type Options struct {
	Wait       time.Duration
	PollPeriod time.Duration
	Stale      time.Duration
	Retries    int
	RetryWait  time.Duration
	Filetime   Filetime

	started bool
	start   int64 // when the wait began, in ms since 1970
}

// Check refuses what is most likely a mistake of the caller.
func (o *Options) Check() error {
	if o.Filetime > Mtime {
		return nodetime.OutOfRange("Filetime", "Ctime or Mtime", o.Filetime)
	}
	for _, option := range []struct {
		name  string
		value time.Duration
	}{{"Wait", o.Wait}, {"PollPeriod", o.PollPeriod}, {"Stale", o.Stale}, {"RetryWait", o.RetryWait}} {
		if err := nodetime.CheckOption(option.name, option.value); err != nil {
			return err
		}
	}
	return nil
}

// defaultPollPeriod is how long a waiting lock sleeps between attempts (L4).
const defaultPollPeriod = 100 * time.Millisecond

// stamp sets the start of the wait, unless an earlier call has.
func (o *Options) stamp(now int64) {
	if !o.started {
		o.restart(now)
	}
}

func (o *Options) restart(now int64) { o.started, o.start = true, now }

// pause returns how long to sleep before the next attempt, and false if the wait is
// over (L4, L5). It is counted from the whole wait and not from what is left of it.
func (o *Options) pause(now int64) (time.Duration, bool) {
	if o.Wait <= 0 {
		return 0, false
	}
	if waited := nodetime.Duration(now - o.start); waited >= o.Wait {
		return 0, false
	}
	period := o.PollPeriod
	if period == 0 {
		period = defaultPollPeriod
	}
	return min(o.Wait, period), true
}

// ErrSyncWait is the error of a synchronous call that is asked to wait.
var ErrSyncWait = &nodeerror.Error{Message: "opts.wait not supported sync for obvious reasons"}

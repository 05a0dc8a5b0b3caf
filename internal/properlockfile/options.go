package properlockfile

import (
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
	"github.com/seed-c461eb89/nodelock/internal/nodetime"
	"github.com/seed-c461eb89/nodelock/internal/properlock"
	"github.com/seed-c461eb89/nodelock/internal/retry"
)

// A Contract is the version of the package whose behaviour is mirrored.
type Contract uint8

// The contracts.
const (
	V4 Contract = iota // proper-lockfile 4.1.2
	V1                 // proper-lockfile 1.2.0
)

// Options are the packages' options. A zero value is an option that is not given.
type Options struct {
	Stale, Update time.Duration
	Retries       retry.Options
	NoRealpath    bool
	FS            FS
	OnCompromised func(error)
	LockfilePath  string
	Contract      Contract
}

// retriedUpdate is how long after a failed heartbeat the next one follows (P11, P12).
const retriedUpdate = time.Second

// Check refuses what is most likely a mistake of the caller, and what there is not.
func (o *Options) Check() error {
	if o.Contract > V1 {
		return nodetime.OutOfRange("Contract", "V4 or V1", o.Contract)
	}
	for _, option := range []struct {
		name  string
		value time.Duration
	}{
		{"Stale", o.Stale}, {"Update", o.Update}, {"MinTimeout", o.Retries.MinTimeout},
		{"MaxTimeout", o.Retries.MaxTimeout}, {"MaxRetryTime", o.Retries.MaxRetryTime},
	} {
		if err := nodetime.CheckOption(option.name, option.value); err != nil {
			return err
		}
	}
	return nil
}

// settings are the options of a lock, complete.
type settings struct {
	stale, update time.Duration
	files         calls
	onCompromised func(error)
	contract      Contract
}

// complete completes the options (P3).
func (e *Engine) complete(o *Options) settings {
	stale := properlock.Stale(o.Stale)
	return settings{
		stale: stale, update: properlock.Update(o.Update, stale),
		files: e.callsOf(o), onCompromised: o.OnCompromised, contract: o.Contract,
	}
}

func (e *Engine) callsOf(o *Options) calls {
	if o.FS != nil {
		return custom{o.FS}
	}
	return e.filesystem
}

// lockPath is where the lock of file is (P1). Version 1.2.0 has no lockfilePath.
func (o *Options) lockPath(file string) string {
	if o.LockfilePath != "" && o.Contract == V4 {
		return o.LockfilePath
	}
	return properlock.Path(file)
}

// refusesRetries says whether a synchronous call has to refuse the options: lockSync of
// both versions, and in 4.1.2 the others too (P18).
func (o *Options) refusesRetries(lock bool) bool {
	return (lock || o.Contract == V4) && o.Retries.Any()
}

// The errors that callers can tell apart by code.
var (
	ErrLocked      = &nodeerror.Error{Code: "ELOCKED", Message: "Lock file is already being held"}
	ErrNotAcquired = &nodeerror.Error{Code: "ENOTACQUIRED", Message: "Lock is not acquired/owned by you"}
	ErrReleased    = &nodeerror.Error{Code: "ERELEASED", Message: "Lock is already released"}
	ErrCompromised = &nodeerror.Error{Code: "ECOMPROMISED", Message: "Unable to update lock within the stale threshold"}
	ErrSyncRetries = &nodeerror.Error{Code: "ESYNC", Message: "Cannot use retries with the sync api"}
)

// locked is the error of a lock that somebody holds (P8).
func locked(file string, contract Contract) error {
	err := *ErrLocked
	err.File = file
	if contract == V1 {
		err.Message = "Lock file is already being hold"
	}
	return &err
}

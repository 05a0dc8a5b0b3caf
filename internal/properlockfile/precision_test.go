package properlockfile

import (
	"context"
	"errors"
	"path"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/clock"
	"github.com/seed-c461eb89/nodelock/internal/exithook"
	"github.com/seed-c461eb89/nodelock/internal/sim"
)

// The precision that the first lock has found out is that of all filesystems (P10): where
// times are coarser, a lock is lost at its second heartbeat. An engine of its own is not.
func TestPrecisionOfASecondFilesystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(1234567 * time.Microsecond)
		var mutex sync.Mutex
		files := sim.New("", 1, 0)
		do := func(c sim.Call) sim.Answer {
			mutex.Lock()
			defer mutex.Unlock()
			if c.Op == sim.Resolve {
				return sim.Answer{Data: path.Join("/", c.Path)}
			}
			files.Now = time.Now().UnixNano()
			return files.Perform(&c)
		}
		newEngine := func() *Engine { return New(sim.System{Do: do}, clock.System{}, exithook.None{}) }
		e := newEngine()
		o := Options{NoRealpath: true, Stale: 10 * time.Second, Update: time.Second}
		lock := func(e *Engine, name string) *Lease {
			l, err := e.Lock(context.Background(), name, &o)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		fine := lock(e, "/a")
		files.Grain = 1e9 // the rest is on another filesystem
		coarse := lock(e, "/b")
		own := lock(newEngine(), "/c")
		time.Sleep(1500 * time.Millisecond)
		if err := coarse.Err(); err != nil {
			t.Errorf("lost at the first heartbeat: %v", err)
		}
		time.Sleep(time.Second)
		if err := coarse.Err(); !errors.Is(err, ErrCompromised) {
			t.Errorf("not lost at the second heartbeat: %v", err)
		}
		if err := own.Err(); err != nil {
			t.Errorf("with an engine of its own: %v", err)
		}
		_ = fine.Release()
		_ = own.Release()
	})
}

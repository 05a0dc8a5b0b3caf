//go:build amd64 || arm64

package exithook

import (
	"os"
	"os/signal"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkListenerWaits is the time until a program gets a signal that it listens to.
func BenchmarkListenerWaits(b *testing.B) {
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGUSR2} {
		for _, hooked := range []string{"without", "with"} {
			b.Run(name(s)+" "+hooked, func(b *testing.B) {
				arrivals := make(chan os.Signal, 1)
				signal.Notify(arrivals, s)
				defer signal.Stop(arrivals)
				if hooked == "with" {
					engine := &nothing{}
					Process.Add(engine)
					defer Process.Remove(engine)
				}
				for b.Loop() {
					unix.Kill(os.Getpid(), s)
					<-arrivals
				}
			})
		}
	}
}

func TestReleaseRestores(t *testing.T) {
	// Other tests have left the handlers to linger.
	until(func() bool {
		Process.mutex.Lock()
		defer Process.mutex.Unlock()
		return !Process.catching
	})
	var all set
	before := map[unix.Signal]action{}
	for _, s := range fatal {
		all = all.with(s)
		before[s] = getAction(s)
	}
	catch(all)
	for _, s := range fatal {
		if getAction(s).handler != handler() {
			t.Errorf("%v is not caught", s)
		}
	}
	release()
	for _, s := range fatal {
		if getAction(s) != before[s] {
			t.Errorf("%v is handled by %v, before by %v", s, getAction(s), before[s])
		}
	}
}

package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-c461eb89/nodelock/internal/libuv"

	"github.com/seed-c461eb89/nodelock/testdata"
)

// lockdirScenario returns a scenario of testdata by its name.
func lockdirScenario(t *testing.T, file, name string) *Scenario {
	t.Helper()
	data, err := testdata.Recordings.ReadFile("lockdir/" + file + ".json")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := ReadEntries(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Scenario.Name == name {
			return e.Scenario
		}
	}
	t.Fatalf("%s has no scenario %q", file, name)
	return nil
}

// faultBases are acquisitions that between them make every call, and meet everything that
// others do.
var faultBases = [][2]string{
	{"acquire", "nothing there: a directory that is never empty"},
	{"acquire", "no rename without replacing: mkdir, write, look"},
	{"acquire", "a rival publishes in between"},
	{"sweep", "residue and stale records are swept, and the directory is made anew"},
	{"sweep", "a record is touched before it is moved aside"},
	{"sweep", "putting back with a rename, where there are no links either"},
	{"weak", "W1: another record beside ours after mkdir and write"},
	{"weak", "W1: verify when all is well"},
	{"weak", "W2: a release while the record is aside"},
}

// allCodes are libuv's.
func allCodes(t *testing.T) []string {
	t.Helper()
	var codes []string
	for _, code := range strings.Fields(`E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EAFNOSUPPORT EAGAIN EALREADY EBADF EBUSY
		ECANCELED ECONNABORTED ECONNREFUSED ECONNRESET EDESTADDRREQ EEXIST EFAULT EFBIG EFTYPE EHOSTUNREACH EILSEQ
		EINTR EINVAL EIO EISCONN EISDIR ELOOP EMFILE EMLINK EMSGSIZE ENAMETOOLONG ENETDOWN ENETUNREACH ENFILE
		ENOBUFS ENODATA ENODEV ENOENT ENOMEM ENOPROTOOPT ENOSPC ENOSYS ENOTCONN ENOTDIR ENOTEMPTY ENOTSOCK ENOTSUP
		ENOTTY ENXIO EOVERFLOW EPERM EPIPE EPROTO EPROTONOSUPPORT EPROTOTYPE ERANGE EROFS ESPIPE ESRCH ETIMEDOUT
		ETXTBSY EXDEV UNKNOWN`) {
		if _, ok := libuv.Lookup(code); !ok {
			t.Errorf("%s is not in the table", code)
			continue
		}
		codes = append(codes, code)
	}
	return codes
}

// faults returns one fault for each call of a run, from the from-th on, with each code,
// before and after the call has had its effect.
func faults(trace []Event, from int, codes []string) []Fault {
	var list []Fault
	calls := map[string]int{}
	for i, e := range trace {
		if e.Sys == "" || e.Sys == "timer" {
			continue
		}
		calls[e.Sys]++
		if i < from {
			continue
		}
		for _, code := range codes {
			for _, after := range []bool{false, true} {
				list = append(list, Fault{Syscall: e.Sys, Call: calls[e.Sys], Code: code, After: after})
			}
		}
	}
	return list
}

// TestEveryCode makes each call of an acquisition and what follows it fail with every
// code there is, and then each two calls with those that the engine tells apart. However
// it ends, it ends within the bounds, and leaves nothing behind that is its own and that
// the system would have let it remove.
func TestEveryCode(t *testing.T) {
	for _, base := range faultBases {
		t.Run(base[1], func(t *testing.T) {
			t.Parallel()
			s := *lockdirScenario(t, base[0], base[1])
			own := s.Faults
			run := func(faults ...Fault) *Recording {
				t.Helper()
				s.Faults = append(faults, own...)
				r, err := Observe(&s)
				if err != nil {
					t.Fatalf("%+v: %v", faults, err)
				}
				if problem := checkAcquisition(&s, r, faults); problem != "" {
					var trace strings.Builder
					for _, e := range r.Trace {
						line, _ := json.Marshal(e)
						fmt.Fprintf(&trace, "\t%s\n", line)
					}
					t.Errorf("%+v: %s\n%s", faults, problem, &trace)
				}
				return r
			}
			codes := allCodes(t)
			for _, f := range faults(run().Trace, 0, codes) {
				if run(f); t.Failed() {
					return
				}
			}
			if testing.Short() || raceEnabled {
				return // one goroutine at a time runs here
			}
			told := []string{"ENOENT", "EEXIST", "EIO"}
			for _, first := range faults(run().Trace, 0, told) {
				trace := run(first).Trace
				at := slices.IndexFunc(trace, func(e Event) bool { return e.Ret == first.Code })
				for _, second := range faults(trace, at+1, told) {
					if run(first, second); t.Failed() {
						return
					}
				}
			}
		})
	}
}

// checkAcquisition says what is wrong with a run whose first step is an acquisition.
func checkAcquisition(s *Scenario, r *Recording, faults []Fault) string {
	const parks, rmdirs = 5, 21
	counts := map[string]int{}
	over := false
	for _, e := range r.Trace {
		// A second step begins where the first is over.
		over = over || e.Step != nil && *e.Step > 0
		if !over && e.Sys != "" && e.T < 2000 {
			counts[e.Sys]++
			if e.Sys == "rmdir" && e.Args[0] == "a.lockdir" {
				counts["rmdir of the directory"]++
			}
		}
	}
	acquired := r.Results[0].Error == nil
	if acquired {
		counts["timer"]-- // the heartbeat
	}
	switch {
	case counts["timer"] > parks:
		return fmt.Sprintf("%d parks", counts["timer"])
	case counts["rmdir of the directory"] > rmdirs:
		return fmt.Sprintf("%d removals of the directory", counts["rmdir of the directory"])
	case r.FDs != 0:
		return "a descriptor was left open"
	}
	for _, result := range r.Results {
		if e := result.Error; e != nil && e.Code == "" && e.Message != ErrNoRelease.Error() {
			return "an error without a code: " + e.Message
		}
	}
	// What could not be removed is no fault of the engine's.
	for _, f := range faults {
		if slices.Contains([]string{"unlink", "rmdir", "utimes"}, f.Syscall) {
			return ""
		}
	}
	own := "L-20231114T221320-00000001"
	record := "a.lockdir/" + own + ".json"
	released := len(s.Steps) > 1
	for path, file := range r.Disk {
		switch {
		case strings.HasPrefix(path, "a.lockdir."):
			return "a staging directory was left: " + path
		case !strings.Contains(path, own):
		case !acquired || released && r.Results[len(r.Results)-1].Error == nil:
			return "a record was left: " + path
		case path == record && file.Content == "":
			return "a record was published without its content"
		}
	}
	if _, there := r.Disk[record]; acquired && !released && !there {
		return "there is no record of a lock that is held"
	}
	// What is twice said not to be there cannot be seen.
	hidden := slices.ContainsFunc(faults, func(f Fault) bool { return f.Code == "ENOENT" })
	if acquired && !released && !hidden {
		for path := range r.Disk {
			if strings.HasPrefix(path, "a.lockdir/") && strings.HasSuffix(path, ".json") && path != record {
				return "held beside another's record: " + path
			}
		}
	}
	return ""
}

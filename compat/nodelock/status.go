package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/lockdir"
	"github.com/seed-c461eb89/nodelock/compat/lockfile"
	"github.com/seed-c461eb89/nodelock/compat/properlockfile"
)

const statusHelp = `usage: nodelock status [-protocol P] [-stale D] [-timeout D] [-json] PATH...

Status shows whether the locks are free, held or stale. It looks once, changes nothing, and
follows no link at the path of a lock. What it tells may have changed since.

Without -protocol it is guessed, in this order: a path that ends in .lockdir is a lock
directory; if there is a directory PATH.lock, PATH is locked with proper-lockfile, and if
there is a file PATH.lock, with lockfile; a directory that ends in .lock is a lock of
proper-lockfile; any other directory, and a file that has something in it and does not end
in .lock, is one that proper-lockfile could lock, and free; any other file is a lock file. A
path that is not there is free. Of a link, and of anything else, it cannot tell.

	-protocol P   lockfile, proper or lockdir; see 'nodelock help protocols'
	-stale D      the age beyond which a lock is stale, such as 30s. 0: the protocol's,
	              which is never for lockfile, 10s for proper, and 2m (on Windows 1m)
	              for lockdir
	-timeout D    how long the filesystem may take for each PATH; 0: for ever (default 5s)
	-json         print one JSON object for each PATH, in a line of its own

The exit status is that of the gravest PATH:

	0   free
	1   held
	2   stale
	3   cannot tell; standard error says why
	64  the arguments are wrong
`

// A finding is what status prints of one path.
type finding struct {
	Path     string     `json:"path"`
	Lock     string     `json:"lock,omitempty"`
	Protocol string     `json:"protocol,omitempty"`
	State    string     `json:"state"`
	Renewed  *time.Time `json:"renewed,omitempty"`
	Age      float64    `json:"age_seconds,omitempty"`
	Pid      int        `json:"pid,omitempty"`
	Host     string     `json:"host,omitempty"`
	Target   string     `json:"target,omitempty"`
	Created  string     `json:"created,omitempty"`
	Error    string     `json:"error,omitempty"`

	exit int
	// entries are what is in a lock directory besides records.
	entries []string
}

func status(args []string) int {
	flags := flag.NewFlagSet("status", flag.ContinueOnError)
	protocol := flags.String("protocol", "", "")
	stale := flags.Duration("stale", 0, "")
	timeout := flags.Duration("timeout", 5*time.Second, "")
	asJSON := flags.Bool("json", false, "")
	if status, done := parse(flags, statusHelp, args); done {
		return status
	}
	switch {
	case flags.NArg() == 0:
		return misused("status", "no path is given")
	case *protocol != "" && !isProtocol(*protocol):
		return misused("status", "there is no protocol %s", escape(*protocol))
	case *stale < 0 || *timeout < 0:
		return misused("status", "-stale and -timeout must not be negative")
	}
	exit := 0
	for _, path := range flags.Args() {
		f := within(*timeout, path, func() finding { return inspect(path, *protocol, *stale) })
		exit = max(exit, f.exit)
		if *asJSON {
			_ = json.NewEncoder(os.Stdout).Encode(f)
			continue
		}
		if f.Error != "" {
			fmt.Fprintf(os.Stderr, "nodelock status: %s: %s\n", escape(path), escape(f.Error))
			continue
		}
		fmt.Println(f)
	}
	return exit
}

func isProtocol(name string) bool { return name == "lockfile" || name == "proper" || name == "lockdir" }

// within returns what look finds, if it finds it in time. What hangs is left to hang: the
// process ends soon.
func within(timeout time.Duration, path string, look func() finding) finding {
	if timeout == 0 {
		return look()
	}
	found := make(chan finding, 1)
	go func() { found <- look() }()
	select {
	case f := <-found:
		return f
	case <-time.After(timeout):
		return cannotTell(path, "", fmt.Errorf("the filesystem did not answer in %v", timeout))
	}
}

func cannotTell(path, protocol string, err error) finding {
	return finding{Path: path, Protocol: protocol, State: "unknown", Error: err.Error(), exit: exitCannotTell}
}

// guess returns the protocol of the lock at path, and the path to inspect; "" if there is no
// lock.
func guess(path string) (protocol, lock string, err error) {
	if strings.HasSuffix(path, ".lockdir") {
		return "lockdir", path, nil
	}
	found, err := os.Lstat(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", "", err
	}
	beside, err := os.Lstat(path + ".lock")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", "", err
	}
	switch {
	case beside != nil && beside.IsDir():
		return "proper", path + ".lock", nil
	case beside != nil && beside.Mode().IsRegular():
		return "lockfile", path + ".lock", nil
	case beside != nil:
		return "", "", errors.New("what is at PATH.lock is neither a directory nor a regular file")
	case found == nil:
		return "", "", nil
	case found.IsDir() && strings.HasSuffix(path, ".lock"):
		return "proper", path, nil
	case found.IsDir(), found.Mode().IsRegular() && found.Size() > 0 && !strings.HasSuffix(path, ".lock"):
		return "proper", path + ".lock", nil
	case found.Mode().IsRegular():
		return "lockfile", path, nil
	}
	return "", "", errors.New("it is neither a directory nor a regular file; give -protocol")
}

func inspect(path, protocol string, stale time.Duration) finding {
	if path == "" {
		return cannotTell(path, protocol, errors.New("the path is empty"))
	}
	lock, proper := path, properlockfile.InspectOptions{Stale: stale}
	if protocol == "" {
		var err error
		if protocol, lock, err = guess(path); err != nil {
			return cannotTell(path, "", err)
		}
		proper.NoRealpath, proper.LockfilePath = true, lock
	}
	switch protocol {
	case "":
		return finding{Path: path, State: "free"}
	case "lockfile":
		s, err := lockfile.Inspect(lock, lockfile.InspectOptions{Stale: stale})
		return judge(finding{Path: path, Lock: s.Path, Protocol: protocol, Pid: s.Holder}, s.Exists, s.Stale, s.Renewed, s.Age, err)
	case "proper":
		s, err := properlockfile.Inspect(lock, proper)
		return judge(finding{Path: path, Lock: s.Path, Protocol: protocol, Pid: s.Holder}, s.Exists, s.Stale, s.Renewed, s.Age, err)
	}
	o := lockdir.Options{Stale: stale}
	if stale > 0 {
		o.Heartbeat = max(stale/8, time.Millisecond) // it must be less, and is not looked at
	}
	s, err := lockdir.Inspect(lock, o)
	f := finding{Path: path, Lock: s.Path, Protocol: protocol, entries: s.Others}
	var shown lockdir.Record
	for i, r := range s.Records {
		if i == 0 || shown.Stale && !r.Stale {
			shown = r
		}
	}
	f.Pid, f.Host, f.Target, f.Created = shown.Pid, shown.Hostname, shown.Target, shown.CreatedAt
	return judge(f, s.Exists, s.Stale, shown.Renewed, shown.Age, err)
}

// judge completes f by what Inspect has returned.
func judge(f finding, exists, stale bool, renewed time.Time, age time.Duration, err error) finding {
	switch {
	case err != nil:
		return cannotTell(f.Path, f.Protocol, err)
	case !exists:
		f.State = "free"
		return f
	case stale:
		f.State, f.exit = "stale", 2
	default:
		f.State, f.exit = "held", 1
	}
	if !renewed.IsZero() {
		f.Renewed, f.Age = &renewed, age.Seconds()
	}
	return f
}

func (f finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", escape(f.Path), f.State)
	if f.Protocol != "" {
		fmt.Fprintf(&b, ", protocol %s", f.Protocol)
	}
	if f.exit == 0 {
		return b.String()
	}
	if f.Renewed != nil {
		age := time.Duration(f.Age * float64(time.Second)).Round(time.Millisecond)
		fmt.Fprintf(&b, ", last renewed %s (%v ago)", f.Renewed.Format(time.RFC3339), age)
	}
	switch {
	case f.Pid != 0 && f.Host != "":
		fmt.Fprintf(&b, ", by process %d on %s", f.Pid, escape(f.Host))
	case f.Pid != 0:
		fmt.Fprintf(&b, ", by process %d", f.Pid)
	default:
		b.WriteString(", nothing tells by whom")
	}
	if f.Target != "" {
		fmt.Fprintf(&b, ", for %s", escape(f.Target))
	}
	return b.String()
}

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
)

const breakHelp = `usage: nodelock break -protocol P [-stale D] PATH

Break removes a lock that is stale. It takes the lock over as the next participant would, and
releases it: a lock that is renewed meanwhile, or whose holder turns out to be another one,
is left alone. A lock of lockfile or proper-lockfile is watched for 50 ms before. A lock whose
holder is known to be dead counts as stale.

It refuses a lock that is held, a file that has something in it, a directory of
proper-lockfile that has something in it, and a lock directory with anything but records in
it. What is put into a lock directory after it was looked at may be removed with it, as by
every participant of that protocol. Nothing is removed recursively. There is no way to remove
a lock that is held.

	-protocol P   lockfile, proper or lockdir; see 'nodelock help protocols'
	-stale D      the age beyond which the lock is stale, such as 30s; it must be given
	              for lockfile, and is the protocol's for the others if it is not

The exit status is 0 if the lock was removed, or was free; 1 if it is held; 3 if it cannot be
removed, which standard error explains; 64 if the arguments are wrong.
`

func breakLock(args []string) int {
	flags := flag.NewFlagSet("break", flag.ContinueOnError)
	protocol := flags.String("protocol", "", "")
	stale := flags.Duration("stale", 0, "")
	if status, done := parse(flags, breakHelp, args); done {
		return status
	}
	switch {
	case flags.NArg() != 1:
		return misused("break", "exactly one path must be given")
	case !isProtocol(*protocol):
		return misused("break", "-protocol must be lockfile, proper or lockdir")
	case *stale < 0:
		return misused("break", "-stale must not be negative")
	case *protocol == "lockfile" && *stale == 0:
		return misused("break", "-stale must be given: a lock of lockfile never goes stale by itself")
	}
	path := flags.Arg(0)
	refuse := func(status int, reason string) int {
		fmt.Fprintf(os.Stderr, "nodelock break: %s: %s\n", escape(path), escape(reason))
		return status
	}
	found := inspect(path, *protocol, *stale)
	switch {
	case found.Error != "":
		return refuse(exitCannotTell, found.Error)
	case found.State == "free":
		fmt.Println(found)
		return 0
	case len(found.entries) > 0:
		return refuse(exitCannotTell, fmt.Sprintf("there is something else in it, remove it first: %q", found.entries))
	}
	l, err := take(context.Background(), path, *protocol, 0, *stale)
	switch {
	case isLocked(err):
		return refuse(1, "it is held, and was left alone: "+err.Error())
	case err != nil:
		return refuse(exitCannotTell, err.Error())
	}
	reclaimed := l.Reclaimed()
	if err := l.Release(); err != nil {
		return refuse(exitCannotTell, err.Error())
	}
	if reclaimed {
		fmt.Printf("removed %s, which was:\n%v\n", escape(l.Path()), found)
	} else {
		fmt.Printf("%s: free, and nothing was removed: its holder has just released it, or left no record\n", escape(path))
	}
	return 0
}

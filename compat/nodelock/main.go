// Nodelock takes, and looks at, the locks that Node programs use, for shell scripts and
// people at a terminal.
//
// Limits: no command removes a lock that is held. Break and status judge by the age of a
// lock, by this machine's clock, and cannot tell a holder that is slow from one that is dead.
//
// "nodelock help" lists the commands, and "nodelock help run" describes one.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/seed-c461eb89/nodelock/internal/printable"
)

// Exit statuses that several commands have.
const (
	exitUsage      = 64 // EX_USAGE of sysexits.h
	exitCannotTell = 3
)

const usage = `Nodelock takes and shows the locks that Node programs use.

Usage:

	nodelock <command> [flags] [arguments]

The commands are:

	run         hold a lock while a command runs
	break       remove a lock that is stale
	status      show whether a lock is free, held or stale

Use "nodelock help <command>" for more about a command, and "nodelock help protocols"
for the protocols.
`

const protocols = `The protocols, for -protocol:

	lockfile    @stackline/lockfile: PATH is the lock, an empty file
	proper      proper-lockfile: PATH is the file; its lock is the directory PATH.lock
	lockdir     PALEE lock directories: PATH is the lock, and ends in .lockdir
`

var topics = map[string]string{"break": breakHelp, "run": runHelp, "status": statusHelp, "protocols": protocols}

func main() { os.Exit(command(os.Args[1:])) }

func command(args []string) int {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return exitUsage
	}
	switch name := args[0]; name {
	case "run":
		return run(args[1:])
	case "break":
		return breakLock(args[1:])
	case "status":
		return status(args[1:])
	case "help", "-h", "-help", "--help":
		return help(args[1:])
	default:
		fmt.Fprintf(os.Stderr, "nodelock: unknown command %s; run 'nodelock help'\n", escape(name))
		return exitUsage
	}
}

func help(args []string) int {
	if len(args) == 0 {
		fmt.Print(usage)
		return 0
	}
	text, ok := topics[args[0]]
	if !ok {
		fmt.Fprintf(os.Stderr, "nodelock: no help about %s; run 'nodelock help'\n", escape(args[0]))
		return exitUsage
	}
	fmt.Print(text)
	return 0
}

// parse parses the flags of a command. If done, the command ends with status.
func parse(flags *flag.FlagSet, text string, args []string) (status int, done bool) {
	flags.SetOutput(io.Discard)
	switch err := flags.Parse(args); {
	case err == nil:
		return 0, false
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(text)
		return 0, true
	default:
		return misused(flags.Name(), "%s", escape(err.Error())), true
	}
}

// misused tells what is wrong with the arguments of a command.
func misused(name, format string, args ...any) int {
	fmt.Fprintf(os.Stderr, "nodelock %s: %s\nRun 'nodelock help %s' for the usage.\n", name, fmt.Sprintf(format, args...), name)
	return exitUsage
}

// escape makes a text that comes from elsewhere fit for one line of a terminal.
func escape(text string) string { return printable.Text(text) }

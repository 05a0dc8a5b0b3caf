package lockdir

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/seed-c461eb89/nodelock/internal/filesystem"
)

const (
	recordSuffix     = ".json"
	quarantineSuffix = ".quarantine"
)

// isRecordName is the active test (§1). It is about case as it is about everything.
func isRecordName(name string) bool { return strings.HasSuffix(name, recordSuffix) }

func isQuarantineName(name string) bool {
	return strings.HasSuffix(name, recordSuffix+quarantineSuffix)
}

// mint returns a new lock id (§1).
func (e *Engine) mint(at time.Time) string {
	var random [4]byte
	e.host.Random(random[:])
	return at.UTC().Format("L-20060102T150405-") + hex.EncodeToString(random[:])
}

// body returns what is in the record, byte for byte what JSON.stringify(record, null, 2)
// gives (§1).
func (l *Lock) body(id string, at time.Time) []byte {
	return fmt.Appendf(nil, "{\n  \"lock_id\": %s,\n  \"target\": %s,\n  \"pid\": %d,\n  \"hostname\": %s,\n  \"created_at\": %s\n}",
		quote(id), quote(l.target), l.host.Pid(), quote(l.options.Hostname),
		quote(at.UTC().Format("2006-01-02T15:04:05.000Z")))
}

// quote is JSON.stringify for a string. encoding/json escapes more.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s { // what is not UTF-8 is U+FFFD, as it is in Node
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			if r < 0x20 {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

// maxRecord is how many bytes of a record are read. What is longer is no record of
// anybody's, and is judged like one that cannot be parsed.
const maxRecord = 1 << 20

// An entry is a name in a lock directory, and what was found there.
type entry struct {
	name string
	kind kind
	// Of a record:
	mtime    int64 // in ms since 1970; 0: it could not be looked at
	vanished bool
	pid      int // 0: unknown
	host     string
}

type kind int

const (
	residue   kind = iota // to be unlinked: a file by another name, or no file
	record                // a regular file by a record's name
	directory             // never to be cleared
)

// read looks at a name that is a record's. It follows no link, waits for nothing, and
// changes nothing. Anything but a regular file is no record (§9 number 5), whatever it
// is called.
func (e *Engine) read(dir, name string) entry {
	found, _ := e.readFields(dir, name)
	return found
}

// readFields is read, and returns all that the record says, too.
func (e *Engine) readFields(dir, name string) (entry, map[string]json.RawMessage) {
	path := e.join(dir, name)
	if h, err := e.filesystem.OpenNoFollow(path); err == nil {
		stat, data, err := e.readHandle(h)
		_ = e.filesystem.Close(h)
		if err == nil {
			found := entry{name: name, kind: kindOf(stat.Type), mtime: mtimeOf(stat)}
			fields := parse(data)
			found.pid, found.host = holder(fields)
			return found, fields
		}
	}
	// It cannot be read, so nothing in it counts. It may still be a record, which is
	// judged by its age then.
	stat, err := e.filesystem.Lstat(path)
	if err != nil {
		return entry{name: name, kind: record, vanished: missing(err)}, nil
	}
	return entry{name: name, kind: kindOf(stat.Type), mtime: mtimeOf(stat)}, nil
}

func (e *Engine) readHandle(h filesystem.Handle) (stat filesystem.Stat, data []byte, err error) {
	stat, err = e.filesystem.Fstat(h)
	if err == nil && stat.Type == filesystem.File {
		data, err = e.filesystem.Read(h, maxRecord+1)
	}
	return stat, data, err
}

func kindOf(t filesystem.Type) kind {
	switch t {
	case filesystem.File:
		return record
	case filesystem.Directory:
		return directory
	}
	return residue
}

// parse returns what a record says, or nil if it is no JSON object, or too long.
func parse(data []byte) map[string]json.RawMessage {
	// Into a map, because a struct's fields match whatever the case of the keys.
	var fields map[string]json.RawMessage
	if len(data) > maxRecord || json.Unmarshal(data, &fields) != nil {
		return nil
	}
	return fields
}

// holder returns which process holds the lock, or 0 if the record does not say so in a way
// that can be trusted: pid must be a number that process.kill of Node takes for a process
// (§3).
func holder(fields map[string]json.RawMessage) (pid int, host string) {
	var number float64
	if json.Unmarshal(fields["pid"], &number) != nil || number < 1 || number > math.MaxInt32 || number != math.Trunc(number) {
		return 0, ""
	}
	if json.Unmarshal(fields["hostname"], &host) != nil {
		host = ""
	}
	return int(number), host
}

// process returns how a message names the process that holds the lock.
func (e entry) process() string {
	if e.pid == 0 {
		return "unknown"
	}
	return strconv.Itoa(e.pid)
}

package main

// sources says where expectations come from that are no recordings, by system.
var sources = map[string]string{
	"lockdir": "expectations written from the contract, not recorded: no package with ADR-0036 was at hand",
}

// lockdirRows are the sections of lockdir's contract, the conflicts and the weak spots
// that it names, and the bad input that it must bear.
var lockdirRows = []struct{ api, id, says string }{
	{"lockdir", "S1", "where the lock directory is, what its record is called and holds"},
	{"lockdir", "S2", "the constants: heartbeat, stale, incoming, pauses, budgets, cap"},
	{"lockdir", "S3", "a record is stale if its process is gone from this host, or by mtime"},
	{"lockdir", "S4", "one bounded acquisition, which waits for no holder"},
	{"lockdir", "S4.A", "make the directory with the record, or find it occupied"},
	{"lockdir", "S4.B", "list it; ENOENT goes round, what else is wrong is thrown raw"},
	{"lockdir", "S4.C", "a fresh record is a conflict, before anything is changed"},
	{"lockdir", "S4.D", "a young directory that is empty or has a quarantine is incoming"},
	{"lockdir", "S4.E", "sweep: unlink residue; move records aside, look again, remove or restore"},
	{"lockdir", "S4.F", "rmdir, never recursive: one ENOTEMPTY budget, the Windows arm, the cap"},
	{"lockdir", "S5", "hold and release: heartbeat, loss, own record only"},
	{"lockdir", "S6", "errors: raw ones, containment, names escaped"},
	{"lockdir", "S9", "the choices where the contract leaves a question open"},
	{"lockdir", "C1", "conflict: a fresh record"},
	{"lockdir", "C2", "conflict: an incoming process"},
	{"lockdir", "C3", "conflict at once: a directory among the entries"},
	{"lockdir", "C3b", "conflict after 5 retries: the directory would not empty"},
	{"lockdir", "C4", "conflict: a record that was moved aside could not be put back"},
	{"lockdir", "C5", "conflict: 20 rounds"},
	{"lockdir", "W1", "two records: publish with the record inside, look, verify"},
	{"lockdir", "W2", "a record that is aside is not lost yet"},
	{"lockdir", "W3", "a recoverer that died: 5 s, then swept"},
	{"lockdir", "W4", "every change makes the directory young again"},
	{"lockdir", "W5", "clocks that differ"},
	{"lockdir", "W6", "holders that are slow"},
	{"lockdir", "W7", "one host name for two hosts"},
	{"lockdir", "W8", "one file, two spellings"},
	{"lockdir", "B", "bad input: never followed, never blocking, never trusted"},
}

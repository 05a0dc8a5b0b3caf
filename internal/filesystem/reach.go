package filesystem

// A Reach is how far the kernel's locks on the files of a filesystem reach.
type Reach uint8

// The reaches.
const (
	// ReachUnknown: nothing is known of the filesystem.
	ReachUnknown Reach = iota
	// ReachMount: a lock keeps out those that come by the same mount. The same files may be
	// reached otherwise: from another machine, by another mount, or beside a filesystem that
	// a program serves.
	ReachMount
	// ReachKernel: the filesystem is this kernel's own, and a lock keeps out every process
	// of this machine.
	ReachKernel
)

func (r Reach) String() string {
	return [...]string{"unknown", "this mount", "this machine"}[r]
}

// Reach says how far the kernel's locks reach on the filesystem that h is on, by its type.
// A type that is not known here is ReachUnknown. An error of the system is too.
func (OS) Reach(h Handle) Reach { return reach(h) }

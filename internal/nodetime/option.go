package nodetime

import (
	"fmt"
	"time"

	"github.com/seed-c461eb89/nodelock/compat/nodeerror"
)

// CheckOption refuses an option that is a duration greater than 0 and less than 1 ms. Node
// counts in milliseconds, so that it is a number of them which was not converted: as a
// duration, 60000 is 60 µs.
func CheckOption(name string, d time.Duration) error {
	if d <= 0 || d >= time.Millisecond {
		return nil
	}
	return OutOfRange(name, "0, or 1ms or more"+howToWrite(d), d)
}

func howToWrite(d time.Duration) string {
	return fmt.Sprintf(" (%d milliseconds are written %d * time.Millisecond)", d, d)
}

// OutOfRange is the error of an option that breaks a rule, in the words that Node has for
// that.
func OutOfRange(name, rule string, got any) error {
	return &nodeerror.Error{
		Code:    nodeerror.ErrOutOfRange.Code,
		Message: fmt.Sprintf("The value of %q is out of range. It must be %s. Received %v", name, rule, got),
	}
}

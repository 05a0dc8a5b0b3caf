//go:build !race

package lockdir

const raceEnabled = false

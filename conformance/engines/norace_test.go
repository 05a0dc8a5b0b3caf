//go:build !race

package engines

const raceEnabled = false
